// The group and clock of a scheduler scenario: rows, and a script of what happens during the n-th call of a name.
// Every counted call leaves one line in the trace.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/entries.h"
#include "engine/scheduling.h"

namespace hearth::conformance {

// Which optional abilities the group offers. Those it offers here are never usable, so the trace must stay the same.
enum class Abilities { kNone, kAlwaysFull, kNoTokensLeft };

class ScriptedGroup final : public ExecutionGroup,
                            public SchedulingClock,
                            private CohortPreparation,
                            private MixedSteps {
 public:
  ScriptedGroup(const Json& scenario, Abilities abilities);

  const std::vector<std::string>& trace() const { return trace_; }

  // The driver made more calls than any scenario needs; the group closed itself.
  bool overran() const { return calls_ > kMaxCalls; }

  std::size_t active() const override { return active_.size(); }

  std::size_t queued() const override { return queue_.size(); }

  bool preparing() const override { return preparing_.has_value(); }

  std::size_t max_active() const override { return max_active_; }

  bool admission_held() const override { return held_; }

  bool closed() const override { return closed_; }

  bool has_execution_lease() const override { return has_execution_lease_; }

  void PruneCancelled() override;
  bool AdmitNext() override;
  bool CanBurst() override;
  boost::asio::awaitable<void> AdvancePreparation() override;
  boost::asio::awaitable<void> Advance() override;
  void FailActive(std::exception_ptr error) override;
  void FailAll(std::exception_ptr error) override;
  LeaseRelease ReserveResidency() override;
  boost::asio::awaitable<LeaseRelease> AcquireExecution() override;
  boost::asio::awaitable<void> WaitForWork() override;
  std::chrono::nanoseconds Now() override;
  boost::asio::awaitable<void> Yield() override;

  CohortPreparation* cohort() override { return abilities_ == Abilities::kNone ? nullptr : this; }

  MixedSteps* mixed() override { return abilities_ == Abilities::kNone ? nullptr : this; }

 private:
  static constexpr std::size_t kMaxCalls = 400;

  struct Row {
    std::string id;
    int prepare = 0;
    int decode = 0;
    bool burst = false;
    bool impossible = false;
    int defer = 0;
    bool cancelled = false;
  };

  // Steps 1 to 4 of a counted call: count, act, close an idle group, throw what the script says.
  void Begin(const std::string& call);
  void Act(const Json& action);

  void Trace(std::string line) { trace_.push_back(std::move(line)); }

  // The row becomes active, or is done at once; says which.
  std::string Join(Row row);
  LeaseRelease Release(std::string call);

  std::size_t preparing_rows() const override { return preparing_ ? 1 : 0; }

  bool can_prepare_more() const override { return abilities_ != Abilities::kAlwaysFull; }

  std::size_t preparing_tokens() const override { return 1; }

  std::size_t next_preparation_tokens() const override { return 1; }

  std::size_t max_preparation_tokens() const override { return 1; }

  bool can_mix() const override { return false; }

  std::size_t running_tokens() const override { return active(); }

  std::size_t minimum_preparation_tokens() const override { return 1; }

  boost::asio::awaitable<void> AdvanceMixed(std::size_t budget) override;
  void FailMixed(std::exception_ptr error) override;

  const Abilities abilities_;
  const std::size_t max_active_;
  const bool has_execution_lease_;
  bool held_;
  bool closed_;
  std::map<std::string, Row> rows_;  // not yet arrived
  std::deque<Row> queue_;
  std::optional<Row> preparing_;
  std::vector<Row> active_;
  long clock_ms_, now_step_, yield_step_, prepare_step_, advance_step_;
  std::map<std::pair<std::string, std::size_t>, Json> script_;
  std::map<std::string, std::size_t> counts_;
  std::size_t calls_ = 0;
  std::vector<std::string> trace_;
};

}  // namespace hearth::conformance
