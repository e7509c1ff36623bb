// What the scheduler's driver speaks with: a group of rows that it drives, and a clock. Interfaces only; the policy is
// in engine/scheduler.h, and neither side knows models, caches or sessions through them.
//
// Words: a row is one request. It is queued, then perhaps in preparation (its prompt is being computed), then active
// (it takes part in decode steps), then gone. A safe unit is a piece of work after which everything may stop: one
// chunk of a prompt, or one decode step.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>

namespace hearth {

// Gives back what a lease holds. Called at most once; an empty one counts as no lease.
using LeaseRelease = std::function<void()>;

// Optional ability of a group: several rows in preparation at once, computed together.
// Units: tokens are prompt tokens.
class CohortPreparation {
 public:
  virtual ~CohortPreparation() = default;

  // How many rows are in preparation; above 0 exactly when the group is preparing().
  virtual std::size_t preparing_rows() const = 0;

  // Whether the rows in preparation can take one more now (they may have come too far, or not be of the same kind).
  virtual bool can_prepare_more() const = 0;

  // Tokens still to be computed of the rows in preparation, those of the queue's head, and the bound of their sum. A
  // row that is prepared alone is admitted whatever its length.
  virtual std::size_t preparing_tokens() const = 0;
  virtual std::size_t next_preparation_tokens() const = 0;

  virtual std::size_t max_preparation_tokens() const { return 2048; }
};

// Optional ability of a group: one forward that carries the active rows' tokens and tokens of rows in preparation.
class MixedSteps {
 public:
  virtual ~MixedSteps() = default;

  // Whether the rows now active and in preparation can share a forward.
  virtual bool can_mix() const = 0;

  // Tokens that the active rows put into one step; the fewest prompt tokens with which preparation makes progress; and
  // the size that a step should have. The budget of a step is never below the first two together, so that decode goes
  // first and preparation still moves.
  virtual std::size_t running_tokens() const = 0;
  virtual std::size_t minimum_preparation_tokens() const = 0;

  virtual std::size_t max_iteration_tokens() const { return 256; }

  // One decode step of every active row together with prompt tokens, at most `budget` tokens in all. A safe unit.
  virtual boost::asio::awaitable<void> AdvanceMixed(std::size_t budget) = 0;

  // AdvanceMixed has failed: ends every active row and every row in preparation with the error, which is the rows of
  // the forward that failed. Queued rows stay.
  virtual void FailMixed(std::exception_ptr error) = 0;
};

// The rows that are run together.
// Threads: the driver's executor only. While the driver awaits one of the group's coroutines everything else of that
//          executor goes on: rows may arrive and be cancelled, admission be held, the group be closed.
// Errors:  what each call's failure means is the driver's business, see engine/scheduler.h.
class ExecutionGroup {
 public:
  virtual ~ExecutionGroup() = default;

  virtual std::size_t active() const = 0;
  virtual std::size_t queued() const = 0;  // cancelled rows count until they are pruned
  virtual bool preparing() const = 0;
  virtual std::size_t max_active() const = 0;
  virtual bool admission_held() const = 0;  // no queued row may start; running ones go on
  virtual bool closed() const = 0;          // for good

  // Ends the queued rows that have been cancelled.
  virtual void PruneCancelled() = 0;

  // Takes the queue's head into preparation, or straight to the active rows. False when it was refused for good (it is
  // gone from the queue) or put off (it is not). Queued rows are admitted in their order.
  virtual bool AdmitNext() = 0;

  // Whether the queue's head should start before the next decode step: it fits, and its preparation is short. Changes
  // nothing. A head that AdmitNext puts off must not stay admissible here for ever: the driver asks again at once.
  virtual bool CanBurst() = 0;

  // One safe unit of the rows in preparation; those that are done become active, or end.
  virtual boost::asio::awaitable<void> AdvancePreparation() = 0;

  // One decode step of every active row.
  virtual boost::asio::awaitable<void> Advance() = 0;

  // Ends every active row with the error. The group goes on.
  virtual void FailActive(std::exception_ptr error) = 0;

  // Ends every row with the error; the last call that a group receives but for the releases of its leases.
  virtual void FailAll(std::exception_ptr error) = 0;

  // Makes the group's memory resident, for as long as there is work.
  virtual LeaseRelease ReserveResidency() = 0;

  // Whether AcquireExecution exists: groups that share a device take turns, others need not.
  virtual bool has_execution_lease() const { return false; }

  virtual boost::asio::awaitable<LeaseRelease> AcquireExecution();

  // Returns when there may be work: a row arrived, admission is no longer held, or the group was closed. May return
  // early, for no reason.
  virtual boost::asio::awaitable<void> WaitForWork() = 0;

  // The optional abilities; null when the group does not offer them.
  virtual CohortPreparation* cohort() { return nullptr; }

  virtual MixedSteps* mixed() { return nullptr; }
};

// The driver's time and its politeness.
class SchedulingClock {
 public:
  virtual ~SchedulingClock() = default;

  // Time since any fixed moment; never goes back.
  virtual std::chrono::nanoseconds Now() = 0;

  // Lets everything else that is ready on the executor run first.
  virtual boost::asio::awaitable<void> Yield() = 0;
};

// The real one: the steady clock, and a turn of the executor that the coroutine runs on.
class LoopClock final : public SchedulingClock {
 public:
  std::chrono::nanoseconds Now() override;
  boost::asio::awaitable<void> Yield() override;
};

}  // namespace hearth
