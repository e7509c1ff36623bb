// One request from its opening to its outcome: lifecycle and bounded delivery, nothing else. A session knows no graph,
// cache, sampler or method; it drives contracts/method.h and speaks hearth/generation.h. The semantics, in full:
//
// States: created -> preparing -> running -> settling -> terminal. A cancellation before the start leads from created
//   to terminal directly; a failed preparation from preparing to settling.
//
// Opening: listens to the external cancellation, if any. If that has come already, the session is terminal before Open
//   returns. Otherwise `collect` and `callback` sessions start; a `stream` session arms the idle timer and starts with
//   the first Next.
//
// Start: prepare; check the cancellation; the plan's output limit must lie in 0 .. 2^53-1; `collect` reserves a buffer
//   of that many tokens; create the run; check the cancellation; running: Execute. Any error on the way ends this
//   sequence as the execution's error. Then always: settling; close the run if one was created (also one that arrived after the
//   cancellation and was never executed); release the reservation; terminal with the outcome.
//
// Outcome, exactly one, always, and only when nothing is held any more:
//   - cleanup failed (closing the run, releasing the reservation): failed, cleanup_failed;
//   - else cancelled by now: cancelled with the first reason, even when the method completed or failed;
//   - else an error: failed, execution_failed;
//   - else completed with the method's result.
//   It always carries committed_tokens, and `output` in a collecting session whose reservation succeeded.
//
// Cancel: the first reason wins; unread events are dropped; reader and producer are woken; the timer is stopped. A
//   session that has not started is terminal at once. One that has started ends when its method does: until then
//   everything that waits for the outcome keeps waiting, a pending Next included.
//
// Reading: one consumer, one Next at a time. No idle timer runs while a Next is pending; one is armed after each event,
//   and runs on while the session settles. Its expiry cancels with consumer_idle, but a Next that was posted to the
//   executor before the timer fired wins. Events that were queued when the session ended stay readable.
//
// Publishing: one publication at a time. `stream` cuts a commit into events of at most max_queued_tokens and waits for
//   room before each, with the idle timer armed anew. `callback` counts the tokens, then awaits the callback, whose
//   "no" asks the method to stop. `collect` appends to the buffer.
//
// Beyond the reference engine, where it leaves things open:
//   - a publication that a method left pending when its Execute ended fails with "publication outside method
//     execution": no event and no timer after the end;
//   - a failing release of the reservation is a failed cleanup; several cleanup errors are all in the message;
//   - a timer that cannot be armed would leave the reader's deadline unwatched: the session cancels its method with
//     engine_closed and fails (execution_failed) with the timer's message;
//   - what the timer's stop, the external unsubscription, a cancellation listener or on_terminal throw cannot change
//     the outcome; it goes to SessionResources::report;
//   - queue bounds and the idle timeout of 0 are refused when the session is opened.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contracts/method.h"
#include "contracts/timer.h"
#include "engine/cancellation.h"
#include "engine/condition.h"
#include "engine/event_queue.h"
#include "engine/idle_timer.h"
#include "engine/resources.h"
#include "hearth/generation.h"

namespace hearth {

// What a session may hold for its consumer. Zero is allowed for max_top_logprobs only.
struct SessionLimits {
  std::chrono::milliseconds idle_timeout{30'000};  // how long a reader may take nothing
  std::size_t max_queued_events = 32;              // at the bound the producer waits
  std::size_t max_queued_tokens = 256;  // over all queued events; at the bound the producer waits
  std::size_t max_top_logprobs = 20;    // alternatives a token; more fail the commit
};

// Throws Error(kInvalidArgument) that names the field, its value and what was wanted.
void ValidateSessionLimits(const SessionLimits& limits);

// What the engine lends to a session.
struct SessionResources {
  boost::asio::any_io_executor executor;  // the engine loop
  Timer* timer = nullptr;                 // outlives the session
  SessionLimits limits;
  // Called once by a collecting session; its error fails the session. Usually OutputReservations::Reserve.
  std::function<Owned<std::uint64_t>(std::uint64_t tokens)> reserve_output;
  // Receives errors that cannot change the outcome any more; may be empty, and must not throw.
  std::function<void(std::exception_ptr)> report;
};

// Answers whether the generation should go on. What it is given is valid until it has answered.
using OnTokens = std::function<
    boost::asio::awaitable<bool>(std::span<const TokenId> token_ids, LogprobsView logprobs)>;

// What the caller of a generation chooses.
struct RunControl {
  OutputMode output = OutputMode::kStream;
  OnTokens on_tokens;                          // kCallback only, and needed there
  std::shared_ptr<Cancellation> cancellation;  // ends the session from outside; may be null
};

// Makes the plan of the request; called once, on the executor. The cancellation outlives the returned awaitable.
using PreparePlan = std::function<boost::asio::awaitable<GenerationPlan>(Cancellation&)>;

class EventReader;

// Life:      made by Open, shared by whoever waits for it; keeps itself alive from Open until it is terminal, by its
//            timer or by its own running work. It must be terminal before its executor or its timer goes away: the
//            engine cancels (kEngineClosed) and awaits every session when it closes. on_terminal is the last call.
// Threads:   everything runs on `executor`, which runs one handler at a time (the engine loop); so the state needs no
//            locks, and other threads post to the executor. Whoever waits is resumed through the executor's queue,
//            never inside the call that woke it.
// Errors:    misuse throws an Error with the reference engine's message. Awaitables begin when they are awaited.
// Cost:      memory is bounded by the limits and by the reserved buffer.
class Session : public std::enable_shared_from_this<Session>, private GenerationOutput {
 public:
  // Errors: Error(kInvalidArgument) for limits or a control that cannot work, and whatever the external cancellation's
  //         Subscribe throws; then there is no session. on_terminal may be called before Open returns.
  static std::shared_ptr<Session> Open(
      std::string id,
      PreparePlan prepare,
      RunControl control,
      SessionResources resources,
      std::function<void()> on_terminal
  );

  const std::string& id() const { return id_; }

  SessionState state() const { return state_; }

  // Takes effect before it returns; does not wait, and does nothing to a terminal session.
  void Cancel(CancelReason reason = CancelReason::kRequested);

  // Cancel, then wait for the outcome.
  boost::asio::awaitable<void> CancelAndWait(CancelReason reason = CancelReason::kRequested);

  // CancelAndWait(kConsumerClosed).
  boost::asio::awaitable<void> Close();

  // Waits for the outcome; any number may. Copies it, the collected output included.
  boost::asio::awaitable<GenerationOutcome> Result();

  // The one consumer of a stream.
  // Errors: "collect sessions return output through result" in another mode, "generation events have one consumer"
  //         the second time.
  EventReader TakeReader();

 private:
  friend class EventReader;

  Session(
      std::string id,
      PreparePlan prepare,
      RunControl control,
      SessionResources resources,
      std::function<void()> on_terminal
  );

  // Lifecycle: session.cc. Static coroutines take the session by value, so that it lives as long as they do.
  void Begin();
  void Start();
  static boost::asio::awaitable<void> Run(std::shared_ptr<Session> self);
  boost::asio::awaitable<MethodResult> Execute();
  std::exception_ptr ReleaseResources(const std::exception_ptr& close_error);
  void Finish(GenerationOutcome::Failed failed);
  void Finish(GenerationOutcome outcome);
  void FailUnwatched(std::exception_ptr error);
  void ArmIdle();
  void StopIdle();
  void Guarded(const std::function<void()>& action);
  static boost::asio::awaitable<void> AwaitOutcome(
      std::shared_ptr<Session> self, std::optional<CancelReason> cancel
  );
  static boost::asio::awaitable<GenerationOutcome> CopyOutcome(std::shared_ptr<Session> self);

  // Delivery: session_delivery.cc.
  boost::asio::awaitable<CommitAnswer> Commit(
      std::span<const TokenId> token_ids, LogprobsView logprobs
  ) override;
  boost::asio::awaitable<void> Progress(double completed, std::optional<double> total) override;
  static boost::asio::awaitable<CommitAnswer> PublishTokens(
      std::shared_ptr<Session> self, std::span<const TokenId> token_ids, LogprobsView logprobs
  );
  static boost::asio::awaitable<void> PublishProgress(
      std::shared_ptr<Session> self, double completed, std::optional<double> total
  );
  static boost::asio::awaitable<std::optional<GenerationEvent>> ReadNext(
      std::shared_ptr<Session> self
  );
  void CheckMayPublish() const;
  void CheckCommit(std::span<const TokenId> token_ids, const LogprobsView& logprobs) const;
  boost::asio::awaitable<void> WaitForRoom(std::size_t tokens);

  std::string id_;
  PreparePlan prepare_;
  RunControl control_;
  SessionResources resources_;
  std::function<void()> on_terminal_;

  SessionState state_ = SessionState::kCreated;
  CancellationSource cancel_;
  Subscription external_;
  IdleTimer idle_;
  std::exception_ptr unwatched_;  // why the idle timer could not be armed

  std::shared_ptr<InferenceMethod> method_;
  std::unique_ptr<MethodRun> run_;
  std::optional<Owned<std::uint64_t>> reservation_;  // collect; closed, not reset, at the end
  std::vector<TokenId> output_;                      // of the outcome, when there was a reservation

  std::uint64_t output_limit_ = 0;
  std::uint64_t committed_tokens_ = 0;
  std::uint64_t next_sequence_ = 0;
  bool stop_requested_ = false;  // by the callback
  bool publishing_ = false;
  bool reader_taken_ = false;
  bool reading_ = false;

  EventQueue queue_;
  std::optional<GenerationOutcome> outcome_;
  Condition reader_wake_;
  Condition producer_wake_;
  Condition outcome_known_;
};

// The consumer's end of a stream: a handle that keeps its session alive. Dropping it does not end the session; the idle
// timer does, or the other calls.
class EventReader {
 public:
  // The next event, or nothing once the session is terminal and everything queued has been read.
  // Errors: "concurrent next() is not supported" while another one is pending, which is not disturbed.
  boost::asio::awaitable<std::optional<GenerationEvent>> Next();

  // Ends the reading early: Session::Close.
  boost::asio::awaitable<void> Return();

  // Return, then throw `error`.
  boost::asio::awaitable<void> Throw(std::exception_ptr error);

 private:
  friend class Session;

  explicit EventReader(std::shared_ptr<Session> session) : session_(std::move(session)) {}

  std::shared_ptr<Session> session_;
};

}  // namespace hearth
