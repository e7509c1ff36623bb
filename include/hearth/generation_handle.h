// One request from its opening to its outcome, as the program that asked holds it. Free of Asio: answers come through
// functions. hearth/awaitable.h makes coroutines of these, hearth/blocking.h calls that wait.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "hearth/generation.h"
#include "hearth/token.h"

namespace hearth {

// Gets the answer to a call, exactly once: an error, or else the value.
// Threads: called on the engine's own thread, where everything else of the engine waits meanwhile, so it must be quick
//          (hand over, do not compute), and may call the engine and its handles but not wait for them. Once the engine is
//          gone it is called on the caller's thread, before the call returns, with Error(kCancelled).
// Errors:  must not throw; what it throws goes to the engine's report.
template <class T>
using Completion = std::function<void(std::exception_ptr error, T value)>;

// Takes tokens that are final; false wants no more. `logprobs` [token_ids.size()] when the request asks for them, else
// empty; both are the engine's and end with the call. Called on the engine's own thread: see Completion. What it
// throws fails its own request.
using TokenCallback = std::function<bool(
    std::span<const TokenId> token_ids, std::span<const std::optional<TokenLogprobs>> logprobs
)>;

// How an answer is taken.
struct Delivery {
  OutputMode output = OutputMode::kStream;
  TokenCallback on_tokens{};  // of kCallback, and needed there
};

// Ownership: copies share one request. When the last copy goes before the answer has ended, the request is cancelled
//            (kConsumerClosed); nothing waits for that.
// Threads:   any, also several at once, but for Next: one at a time.
// Life:      may outlive the engine; calls then end with Error(kCancelled).
class GenerationHandle {
 public:
  // Of no request: the calls below are not for it.
  GenerationHandle() = default;

  explicit operator bool() const { return state_ != nullptr; }

  // The next event of a stream (OutputMode::kStream), or nothing once the answer has ended and everything that was
  // queued has been read. The first call starts the work. While nobody reads, the engine keeps a bounded number of
  // tokens and then lets the row wait; a reader that takes nothing for EngineOptions::idle_timeout is cancelled
  // (kConsumerIdle).
  // Errors: kInvalidArgument in the other modes, and while another call is pending, which is not disturbed.
  void Next(Completion<std::optional<GenerationEvent>> done) const;

  // The outcome, when it is known and the request holds nothing any more. Any number may wait. A stream whose events
  // nobody reads has no outcome until the idle timeout.
  void Result(Completion<GenerationOutcome> done) const;

  // Asks for an early end; does not wait. The first reason counts; once the answer has ended this does nothing.
  // Unread events are dropped. The work stops after the step that runs.
  void Cancel(CancelReason reason = CancelReason::kRequested) const;

  struct State;  // the engine's own

  explicit GenerationHandle(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hearth
