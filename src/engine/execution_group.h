// The execution group of hearth: the rows that run together on one model, behind the interfaces of engine/scheduling.h.
//
// Queue:       first come, first served, bounded. A row is admitted when the pages for its prompt are free or can be
//              had from the prompt cache, and when no row in preparation is about to cache a longer part of its prompt.
// Steps:       every forward carries one token of each active row, tokens of rows in preparation up to the step's budget,
//              oldest row first, or both. Rows are ragged: nothing is padded.
// Pages:       taken step by step. When they run out, cached prefixes go first, then the youngest rows give theirs up
//              and wait at the queue's head to be prepared again (their answers stay the same); the oldest row always goes on.
// Parked rows: a row whose reader has no room keeps its place and its pages and counts as neither active nor preparing. It
//              is the first to give its pages up, and gives its place up when only parked rows are left and somebody
//              waits; then it queues again once its reader has read.
// Ends:        a row ends by itself, by its own error (NaN logits, a failing sink), or because its reader left; the others go on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/batch_row.h"
#include "engine/batch_step.h"
#include "engine/condition.h"
#include "engine/engine_gauges.h"
#include "engine/prompt_cache.h"
#include "engine/scheduling.h"
#include "engine/step_runner.h"

namespace hearth {

// What the group works with; all of it outlives the group.
struct GroupParts {
  StepParts compute{};  // used inside steps only
  StepRunner* steps = nullptr;
  PagePool* pool = nullptr;  // used between steps only, like the cache
  PromptCache* cache = nullptr;
  EngineGauges* gauges = nullptr;
};

// Units as in EngineLimits.
struct GroupLimits {
  std::size_t batch = 32;
  std::size_t waiting = 96;  // rows in the queue, those that came back included
  std::size_t step_tokens = 256;
  std::size_t prefill_tokens = 512;
  bool prompt_cache = true;  // of the cache that the group works with: whether it keeps anything
};

// Life:    FailAll has been called (by its driver) before it ends.
// Threads: the engine loop. A driver's call and a reader's may come in any order; pages are touched by the driver's calls only.
class ContinuousGroup final : public ExecutionGroup, private CohortPreparation, private MixedSteps {
 public:
  ContinuousGroup(const GroupParts& parts, const GroupLimits& limits);
  ~ContinuousGroup() override;
  ContinuousGroup(const ContinuousGroup&) = delete;
  ContinuousGroup& operator=(const ContinuousGroup&) = delete;

  // Puts a row into the queue.
  // Errors: kOverloaded when it is full, kCancelled once the group was closed.
  std::shared_ptr<BatchRow> Submit(GenerationRequest request, AutoregressiveRow row);

  // Ends the driver, and with it every row.
  void Close();

  // For the driver.
  std::size_t active() const override;

  std::size_t queued() const override { return queue_.size(); }

  bool preparing() const override { return !preparing_.empty(); }

  std::size_t max_active() const override;

  bool admission_held() const override { return blocked_; }

  bool closed() const override { return closed_; }

  void PruneCancelled() override;
  bool AdmitNext() override;
  bool CanBurst() override;
  boost::asio::awaitable<void> AdvancePreparation() override;
  boost::asio::awaitable<void> Advance() override;
  void FailActive(std::exception_ptr error) override;
  void FailAll(std::exception_ptr error) override;
  LeaseRelease ReserveResidency() override;
  boost::asio::awaitable<void> WaitForWork() override;

  CohortPreparation* cohort() override { return this; }

  MixedSteps* mixed() override { return this; }

 private:
  using Row = std::shared_ptr<BatchRow>;

  // Where it belongs among rows in ascending order.
  template <class Rows>
  static void InsertByOrder(Rows& rows, const Row& row) {
    const auto order = [](const Row& other) { return other->order(); };
    rows.insert(std::ranges::upper_bound(rows, row->order(), {}, order), row);
  }

  std::size_t preparing_rows() const override { return preparing_.size(); }

  bool can_prepare_more() const override { return true; }

  std::size_t preparing_tokens() const override;
  std::size_t next_preparation_tokens() const override;

  bool can_mix() const override { return true; }

  std::size_t running_tokens() const override { return active(); }

  std::size_t minimum_preparation_tokens() const override { return 1; }

  std::size_t max_iteration_tokens() const override { return limits_.step_tokens; }

  boost::asio::awaitable<void> AdvanceMixed(std::size_t budget) override;
  void FailMixed(std::exception_ptr error) override;

  // Admission: execution_group.cc.
  std::optional<std::size_t> PrefixThatFits(const BatchRow& row) const;
  bool WaitsForPreparation(const BatchRow& row) const;
  bool Idle() const;           // nothing runs: there are parked rows at most
  Row YoungestParked() const;  // null when there is none

  // Steps: execution_group_steps.cc.
  boost::asio::awaitable<void> Run(bool with_active, std::size_t prompt_tokens);
  BatchStep Compose(bool with_active, std::size_t prompt_tokens);
  bool TakePages(BatchRow& row, std::size_t tokens, const BatchStep& step);
  Row Victim(const BatchRow& row, const BatchStep& step) const;
  void Preempt(const Row& row);
  void Settle(BatchStep& step);
  void SettleRow(BatchStep::Part& part);
  void Remove(const Row& row, RowEnd end, bool cache);
  void FailRows(std::vector<Row> rows, const std::exception_ptr& error);
  void Requeue(const Row& row);
  void CachePrefix(BatchRow& row, std::size_t tokens);
  void Changed();
  void Publish();  // the gauges

  GroupParts parts_;
  GroupLimits limits_;
  std::uint64_t next_order_ = 0;
  std::deque<Row> queue_;       // ascending order
  std::vector<Row> preparing_;  // ascending order
  std::vector<Row> active_;     // ascending order; parked ones too
  std::vector<Row> shelved_;    // parked rows without pages
  bool blocked_ = false;        // the queue's head does not fit until something is given back
  bool closed_ = false;
  Condition changed_;
  std::vector<float> logits_;  // kept from step to step
};

}  // namespace hearth
