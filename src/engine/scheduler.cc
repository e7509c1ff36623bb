#include "engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "engine/resources.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

struct Leases {
  LeaseRelease execution;
  LeaseRelease residency;

  Leases() = default;
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // Reached with leases only when the driver's frame is destroyed while suspended: nobody can hear an error then.
  ~Leases() {
    try {
      ReleaseAll();
    } catch (...) {  // NOLINT(bugprone-empty-catch): see above
    }
  }

  void ReleaseAll() {
    const LeaseRelease releases[] = {
        std::exchange(execution, nullptr), std::exchange(residency, nullptr)
    };
    Attempts attempts;
    for (const LeaseRelease& release : releases) {
      if (release) {
        attempts.Attempt(release);
      }
    }
    attempts.Finish();
  }
};

class Driver {
 public:
  Driver(ExecutionGroup& group, SchedulingClock& clock, SchedulerOptions options)
      : group_(group), clock_(clock), options_(options) {}

  awaitable<void> Loop() {
    while (!group_.closed()) {
      group_.PruneCancelled();
      const bool held = group_.admission_held();
      if (group_.active() == 0 && !group_.preparing() && (held || group_.queued() == 0)) {
        leases_.ReleaseAll();
        co_await group_.WaitForWork();
        continue;
      }
      co_await TakeLeases();
      if (group_.closed()) {
        break;
      }
      Admit(held);
      if (CanMix()) {
        co_await AdvanceMixed();
        co_await Yield();
        continue;
      }
      if (group_.preparing()) {
        const bool none_active = group_.active() == 0;
        co_await group_.AdvancePreparation();
        if (options_.yield_after_preparation && none_active && HasOnlyNewRows()) {
          co_await Yield();
          continue;
        }
      }
      if (MayAdmit(held) && group_.CanBurst()) {
        continue;
      }
      if (group_.active() > 0) {
        co_await Advance();
      }
      if (group_.active() == 1 && group_.queued() == 0 && !group_.preparing() &&
          !group_.admission_held() && clock_.Now() - last_yield_ < kLoneRowBudget) {
        continue;
      }
      co_await Yield();
    }
  }

  void Finish(const std::exception_ptr& terminal_error) {
    Attempts attempts;
    attempts.Attempt([&] { group_.FailAll(terminal_error); });
    attempts.Attempt([&] { leases_.ReleaseAll(); });
    attempts.Finish();
  }

 private:
  awaitable<void> TakeLeases() {
    if (!leases_.residency) {
      leases_.residency = group_.ReserveResidency();
    }
    if (!leases_.execution && group_.has_execution_lease()) {
      LeaseRelease release = co_await group_.AcquireExecution();
      leases_.execution = std::move(release);
    }
  }

  // Whether a row could start alone, burst or not.
  bool MayAdmit(bool held) const {
    return !group_.preparing() && !held && group_.queued() > 0 &&
           group_.active() < group_.max_active();
  }

  // Whether one more row could join those in preparation.
  bool MayJoinCohort(const CohortPreparation& cohort, bool held) {
    return group_.preparing() && !held && group_.queued() > 0 && cohort.can_prepare_more() &&
           group_.active() + cohort.preparing_rows() < group_.max_active() &&
           cohort.preparing_tokens() + cohort.next_preparation_tokens() <=
               cohort.max_preparation_tokens() &&
           group_.CanBurst();
  }

  void Admit(bool held) {
    if (MayAdmit(held)) {
      group_.AdmitNext();
    }
    const CohortPreparation* cohort = group_.cohort();
    while (cohort != nullptr && MayJoinCohort(*cohort, held)) {
      const std::size_t queued = group_.queued();
      group_.AdmitNext();
      if (group_.queued() == queued) {
        break;  // put off: to ask again at once could not end
      }
    }
  }

  bool CanMix() {
    const MixedSteps* mixed = group_.mixed();
    return mixed != nullptr && group_.preparing() && group_.active() > 0 && mixed->can_mix();
  }

  awaitable<void> AdvanceMixed() {
    MixedSteps& mixed = *group_.mixed();
    const std::size_t budget = std::max(
        mixed.max_iteration_tokens(), mixed.running_tokens() + mixed.minimum_preparation_tokens()
    );
    std::exception_ptr error;
    try {
      co_await mixed.AdvanceMixed(budget);
    } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      mixed.FailMixed(error);
    }
  }

  awaitable<void> Advance() {
    std::exception_ptr error;
    try {
      co_await group_.Advance();
    } catch (...) {
      error = std::current_exception();
    }
    if (error) {
      group_.FailActive(error);
    }
  }

  // Whether preparation has just ended with nothing else to do: asked only when no row was active before.
  bool HasOnlyNewRows() {
    const std::size_t active = group_.active();
    const bool fresh = group_.cohort() != nullptr ? active > 0 : active == 1;
    return !group_.preparing() && fresh && group_.queued() == 0;
  }

  awaitable<void> Yield() {
    last_yield_ = clock_.Now();
    co_await clock_.Yield();
  }

  ExecutionGroup& group_;
  SchedulingClock& clock_;
  const SchedulerOptions options_;
  Leases leases_;
  std::chrono::nanoseconds last_yield_{0};
};

}  // namespace

awaitable<void> DriveExecutionGroup(
    ExecutionGroup& group, SchedulingClock& clock, SchedulerOptions options
) {
  Driver driver(group, clock, options);
  std::exception_ptr terminal_error =
      std::make_exception_ptr(Error(ErrorCode::kCancelled, "scheduler closed"));
  try {
    co_await driver.Loop();
  } catch (...) {
    terminal_error = std::current_exception();
  }
  driver.Finish(terminal_error);
}

}  // namespace hearth
