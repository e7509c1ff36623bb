// A group of rows with so many prompt tokens each, for the scheduler's tests: it prepares cohorts in chunks and can mix.
// Its trace holds what the conformance suite does not cover: admissions, units of work, failures, waits and yields.
#pragma once

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "contracts/aggregate_error.h"
#include "engine/scheduling.h"

namespace hearth::scheduler_test {

using boost::asio::awaitable;
using Trace = std::vector<std::string>;

inline awaitable<void> Suspend() {
  co_await boost::asio::post(boost::asio::use_awaitable);
}

struct Row {
  std::string name;
  std::size_t prompt = 1;  // tokens to prepare
  int decode = 1;          // steps
  bool burst = true;
  bool refused = false;  // AdmitNext drops it
  bool put_off = false;  // AdmitNext leaves it
};

class TokenGroup final : public ExecutionGroup,
                         public SchedulingClock,
                         public CohortPreparation,
                         public MixedSteps {
 public:
  explicit TokenGroup(std::deque<Row> rows) : queue_(std::move(rows)) {}

  // The knobs.
  std::size_t limit = 8;
  bool offers_cohort = true;
  bool offers_mixed = false;
  bool may_mix = true;
  bool may_join = true;
  bool held = false;
  std::size_t chunk = 512;
  std::size_t token_bound = 2048;
  std::size_t iteration_tokens = 256;
  std::size_t minimum_tokens = 1;
  std::map<std::string, std::string> fail_once;       // call -> error
  std::map<std::string, std::function<void()>> once;  // call -> what happens during it
  std::function<void()> after_each_call = [] {};      // invariants
  std::size_t leases = 0;
  bool is_closed = false;

  Trace trace;

  void Arrive(Row row) { queue_.push_back(std::move(row)); }

  std::size_t active() const override { return active_.size(); }

  std::size_t queued() const override { return queue_.size(); }

  bool preparing() const override { return !preparing_.empty(); }

  std::size_t max_active() const override { return limit; }

  bool admission_held() const override { return held; }

  bool closed() const override { return is_closed; }

  void PruneCancelled() override {}

  bool AdmitNext() override {
    Row& head = queue_.at(0);
    if (head.put_off) {
      Line("put_off " + head.name);
      return false;
    }
    Row row = std::move(head);
    queue_.pop_front();
    if (row.refused) {
      Line("refuse " + row.name);
      return false;
    }
    Line("admit " + row.name);
    (row.prompt == 0 ? active_ : preparing_).push_back(std::move(row));
    return true;
  }

  bool CanBurst() override { return queue_.at(0).burst; }

  awaitable<void> AdvancePreparation() override {
    co_await Suspend();
    Begin("prepare");
    const std::string done = Prepare(chunk * preparing_.size(), chunk);
    Line("prepare " + done);
  }

  awaitable<void> Advance() override {
    co_await Suspend();
    Begin("advance");
    const std::string done = Decode();
    Line("advance " + done);
  }

  awaitable<void> AdvanceMixed(std::size_t budget) override {
    co_await Suspend();
    Begin("mixed");
    const std::size_t left = budget - active_.size();
    const std::string decoded = Decode();
    const std::string prepared = Prepare(left, left);
    Line("mixed " + std::to_string(budget) + ": " + decoded + " | " + prepared);
  }

  void FailActive(std::exception_ptr error) override {
    Line("fail_active " + DescribeError(error));
    active_.clear();
  }

  void FailMixed(std::exception_ptr error) override {
    Line("fail_mixed " + DescribeError(error));
    Begin("fail_mixed");
    active_.clear();
    preparing_.clear();
  }

  void FailAll(std::exception_ptr error) override {
    Line("fail_all " + DescribeError(error));
    active_.clear();
    preparing_.clear();
    queue_.clear();
  }

  LeaseRelease ReserveResidency() override { return Lease(); }

  bool has_execution_lease() const override { return true; }

  awaitable<LeaseRelease> AcquireExecution() override {
    co_await Suspend();
    co_return Lease();
  }

  awaitable<void> WaitForWork() override {
    co_await Suspend();
    Line("wait");
    const std::size_t before = queue_.size();
    Begin("wait");
    is_closed |= queue_.size() == before;
  }

  std::chrono::nanoseconds Now() override { return std::chrono::hours(1); }  // always over budget

  awaitable<void> Yield() override {
    co_await Suspend();
    Line("yield");
    Begin("yield");
  }

  CohortPreparation* cohort() override { return offers_cohort ? this : nullptr; }

  MixedSteps* mixed() override { return offers_mixed ? this : nullptr; }

  std::size_t preparing_rows() const override { return preparing_.size(); }

  bool can_prepare_more() const override { return may_join; }

  std::size_t preparing_tokens() const override {
    std::size_t tokens = 0;
    for (const Row& row : preparing_) {
      tokens += row.prompt;
    }
    return tokens;
  }

  std::size_t next_preparation_tokens() const override { return queue_.at(0).prompt; }

  std::size_t max_preparation_tokens() const override { return token_bound; }

  bool can_mix() const override { return may_mix; }

  std::size_t running_tokens() const override { return active_.size(); }

  std::size_t minimum_preparation_tokens() const override { return minimum_tokens; }

  std::size_t max_iteration_tokens() const override { return iteration_tokens; }

 private:
  void Line(std::string line) {
    trace.push_back(std::move(line));
    after_each_call();
  }

  void Begin(const std::string& call) {
    if (const auto action = once.extract(call)) {
      action.mapped()();
    }
    if (const auto error = fail_once.extract(call)) {
      throw std::runtime_error(error.mapped());
    }
  }

  LeaseRelease Lease() {
    ++leases;
    return [this] { --leases; };
  }

  // Up to `budget` tokens in all and `each` a row, in order. "a:12,b:0" are the tokens left.
  std::string Prepare(std::size_t budget, std::size_t each) {
    std::string text;
    std::vector<Row> kept;
    for (Row& row : preparing_) {
      const std::size_t tokens = std::min({row.prompt, each, budget});
      row.prompt -= tokens;
      budget -= tokens;
      text += (text.empty() ? "" : ",") + row.name + ":" + std::to_string(row.prompt);
      (row.prompt == 0 ? active_ : kept).push_back(std::move(row));
    }
    preparing_ = std::move(kept);
    return text;
  }

  std::string Decode() {
    std::string text;
    std::vector<Row> kept;
    for (Row& row : active_) {
      text += (text.empty() ? "" : ",") + row.name;
      if (--row.decode > 0) {
        kept.push_back(std::move(row));
      }
    }
    active_ = std::move(kept);
    return text;
  }

  std::deque<Row> queue_;
  std::vector<Row> preparing_;
  std::vector<Row> active_;
};

}  // namespace hearth::scheduler_test
