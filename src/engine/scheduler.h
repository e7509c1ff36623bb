// The continuous scheduler: when rows are admitted, prepared and decoded, and when the loop lets others run. Policy
// only: every unit of work is the group's, none is interrupted, and no state of a model or request is seen here.
//
// The driver holds two leases of the group, residency and execution, while there is work. Until the group is closed it
// repeats, each step reading the group afresh except where said:
//
//   1. PruneCancelled().
//   2. Read admission_held into `held`: steps 3, 5, 6 and 8 use this one value; step 10 reads it again.
//   3. Nothing active or in preparation, and `held` or nothing queued: release the leases, WaitForWork(), restart.
//   4. Without residency: ReserveResidency(). Without execution, if the group has such a lease: AcquireExecution().
//      Closed by now: leave.
//   5. Nothing in preparation, not `held`, a row queued, active < max_active: AdmitNext(). Its result does not matter.
//   6. (groups with `cohort`) While rows are in preparation, not `held`, a row is queued, can_prepare_more,
//      active + preparing_rows < max_active, preparing_tokens + next_preparation_tokens <= max_preparation_tokens and
//      CanBurst(): AdmitNext(); stop when it left the queue as it was.
//      (groups with `mixed`) Rows in preparation, rows active, can_mix: AdvanceMixed(max(max_iteration_tokens,
//      running_tokens + minimum_preparation_tokens)), then yield as in step 11 and restart. If it fails: FailMixed.
//   7. Rows in preparation: AdvancePreparation(). With yield_after_preparation, if nothing was active before, nothing
//      is in preparation now, exactly one row is active (with `cohort`: one or more, they were prepared together) and
//      nothing is queued: yield as in step 11 and restart, so that a first token goes out before the first decode step.
//   8. Nothing in preparation, not `held`, a row queued, active < max_active, and then CanBurst(): restart. Short rows
//      are all admitted before the next decode step; a long preparation alternates with decode steps.
//   9. Rows active: Advance(). If it fails: FailActive(error), and the driver goes on.
//  10. Exactly one row active, nothing queued or in preparation, admission not held, and then Now() - last_yield below
//      kLoneRowBudget: restart without yielding.
//  11. last_yield = Now(), which starts at 0; Yield().
//
// A group without the optional abilities sees exactly the calls of the reference engine (mlx-bun 0.3.0), in number and order.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>

#include "engine/scheduling.h"

namespace hearth {

// How long a single active row may keep the loop for itself: long enough to spare it a turn of the loop a token, short
// enough that a person does not notice the wait of everything else.
inline constexpr std::chrono::milliseconds kLoneRowBudget{25};

struct SchedulerOptions {
  // Step 7's yield: on when a row's first token comes from its preparation and should not wait for a decode step.
  bool yield_after_preparation = false;
};

// Drives the group until it is closed or fails. Spawn it on the executor that everything of the group runs on; it ends
// through the group, not through Asio's cancellation.
// Ownership: borrows group and clock until the coroutine has ended or its frame is destroyed. A frame that is destroyed
//            while suspended (the executor ended first) releases its leases and calls nothing else.
// Threads:   runs on its executor alone.
// Errors:    an error of any call but Advance and AdvanceMixed ends the loop and becomes the terminal error; without
//            one it is Error(kCancelled) "scheduler closed". Leaving the loop for whatever reason: FailAll(terminal
//            error), then both leases are released; each is attempted. Execution is released before residency, both
//            count as gone before the first release runs, a failed release is not tried again. Errors of a release
//            combine to an AggregateError "resource cleanup failed" when there are several, and the same rule combines
//            FailAll's error with that of the releases. The coroutine throws that; else it completes normally, also
//            after a terminal error, which only FailAll receives.
// Cost:      no allocation of its own in the loop beyond the frames of the group's coroutines.
boost::asio::awaitable<void> DriveExecutionGroup(
    ExecutionGroup& group, SchedulingClock& clock, SchedulerOptions options
);

}  // namespace hearth
