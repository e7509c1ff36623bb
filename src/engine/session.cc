#include "engine/session.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "contracts/aggregate_error.h"
#include "hearth/error.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

// The reference engine's numbers are doubles: beyond this, a limit would not be exact there.
constexpr std::int64_t kMaxOutputTokens = 9'007'199'254'740'991;  // 2^53 - 1

template <class Number>
void RequirePositive(const char* field, Number value) {
  if (value < 1) {
    throw Error(
        ErrorCode::kInvalidArgument,
        std::string("session limits: got ") + field + " " + std::to_string(value) +
            ", wanted at least 1"
    );
  }
}

}  // namespace

void ValidateSessionLimits(const SessionLimits& limits) {
  RequirePositive("idle_timeout", limits.idle_timeout.count());
  RequirePositive("max_queued_events", limits.max_queued_events);
  RequirePositive("max_queued_tokens", limits.max_queued_tokens);
}

std::shared_ptr<Session> Session::Open(
    std::string id,
    PreparePlan prepare,
    RunControl control,
    SessionResources resources,
    std::function<void()> on_terminal
) {
  ValidateSessionLimits(resources.limits);
  if (resources.timer == nullptr || !resources.executor || !prepare) {
    throw Error(
        ErrorCode::kInvalidArgument, "session: got no timer, executor or plan, wanted all three"
    );
  }
  if ((control.output == OutputMode::kCallback) != static_cast<bool>(control.on_tokens)) {
    throw Error(
        ErrorCode::kInvalidArgument, "session: wanted on_tokens in callback mode, and only there"
    );
  }
  if (control.output == OutputMode::kCollect && !resources.reserve_output) {
    throw Error(
        ErrorCode::kInvalidArgument, "session: got no reserve_output, wanted it in collect mode"
    );
  }
  // Not make_shared: the constructor is private.
  std::shared_ptr<Session> session(new Session(
      std::move(id),
      std::move(prepare),
      std::move(control),
      std::move(resources),
      std::move(on_terminal)
  ));
  session->Begin();
  return session;
}

Session::Session(
    std::string id,
    PreparePlan prepare,
    RunControl control,
    SessionResources resources,
    std::function<void()> on_terminal
)
    : id_(std::move(id)),
      prepare_(std::move(prepare)),
      control_(std::move(control)),
      resources_(std::move(resources)),
      on_terminal_(std::move(on_terminal)),
      idle_(resources_.executor, *resources_.timer, resources_.limits.idle_timeout),
      queue_(resources_.limits.max_queued_events, resources_.limits.max_queued_tokens) {
}

void Session::Begin() {
  if (control_.cancellation != nullptr) {
    // Weak: the caller's cancellation may live long after this request.
    Subscription subscription =
        control_.cancellation->Subscribe([weak = weak_from_this()](CancelReason reason) {
          if (const std::shared_ptr<Session> session = weak.lock()) {
            session->Cancel(reason);
          }
        });
    if (state_ == SessionState::kTerminal) {
      Guarded([&] { subscription.Reset(); });
      return;
    }
    external_ = std::move(subscription);
  }
  if (control_.output == OutputMode::kStream) {
    ArmIdle();
  } else {
    Start();
  }
}

void Session::Cancel(CancelReason reason) {
  if (state_ == SessionState::kTerminal) {
    return;
  }
  // A listener may let go of the last other reference, and so may Finish.
  const std::shared_ptr<Session> self = shared_from_this();
  Guarded([&] { cancel_.Cancel(reason); });
  queue_.Clear();
  reader_wake_.NotifyAll();
  producer_wake_.NotifyAll();
  StopIdle();
  if (state_ == SessionState::kCreated) {
    GenerationOutcome outcome;
    outcome.end = GenerationOutcome::Cancelled{cancel_.reason().value_or(reason)};
    Finish(std::move(outcome));
  }
}

awaitable<void> Session::CancelAndWait(CancelReason reason) {
  return AwaitOutcome(shared_from_this(), reason);
}

awaitable<void> Session::Close() {
  return CancelAndWait(CancelReason::kConsumerClosed);
}

awaitable<GenerationOutcome> Session::Result() {
  return CopyOutcome(shared_from_this());
}

awaitable<void> Session::AwaitOutcome(
    std::shared_ptr<Session> self, std::optional<CancelReason> cancel
) {
  if (cancel) {
    self->Cancel(*cancel);
  }
  while (!self->outcome_) {
    co_await self->outcome_known_.Wait();
  }
}

awaitable<GenerationOutcome> Session::CopyOutcome(std::shared_ptr<Session> self) {
  while (!self->outcome_) {
    co_await self->outcome_known_.Wait();
  }
  co_return *self->outcome_;
}

void Session::Start() {
  if (state_ != SessionState::kCreated) {
    return;
  }
  const std::shared_ptr<Session> self = shared_from_this();
  // Posted, so that neither Open nor Next runs the caller's code inside.
  boost::asio::post(resources_.executor, [self] {
    boost::asio::co_spawn(
        self->resources_.executor, Run(self), [self](const std::exception_ptr& error) {
          // Run handles every error of others; this is what is left, such as no memory for the outcome.
          if (error) {
            self->Finish(
                GenerationOutcome::Failed{
                    FailureCode::kExecutionFailed, DescribeError(error), std::nullopt
                }
            );
          }
        }
    );
  });
  state_ = SessionState::kPreparing;
}

awaitable<void> Session::Run(std::shared_ptr<Session> self) {
  std::optional<MethodResult> result;
  std::exception_ptr failure;
  try {
    result = co_await self->Execute();
  } catch (...) {
    failure = std::current_exception();
  }

  self->state_ = SessionState::kSettling;
  // A publication that was left pending finds that it is too late.
  self->producer_wake_.NotifyAll();
  std::exception_ptr close_error;
  if (self->run_ != nullptr) {
    try {
      co_await self->run_->Close();
    } catch (...) {
      close_error = std::current_exception();
    }
  }
  const std::exception_ptr cleanup_error = self->ReleaseResources(close_error);

  if (self->unwatched_) {
    failure = self->unwatched_;
  }
  const std::exception_ptr error = failure ? failure : cleanup_error;
  GenerationOutcome outcome;
  if (cleanup_error) {
    outcome.end = GenerationOutcome::Failed{
        FailureCode::kCleanupFailed, DescribeError(error), DescribeError(cleanup_error)
    };
  } else if (self->cancel_.reason() && !self->unwatched_) {
    outcome.end = GenerationOutcome::Cancelled{
        *self->cancel_.reason(), result ? result->metrics : GenerationMetrics{}
    };
  } else if (failure) {
    outcome.end = GenerationOutcome::Failed{
        FailureCode::kExecutionFailed, DescribeError(failure), std::nullopt
    };
  } else {
    outcome.end = GenerationOutcome::Completed{*result};
  }
  self->Finish(std::move(outcome));
}

awaitable<MethodResult> Session::Execute() {
  cancel_.ThrowIfCancelled();
  GenerationPlan plan = co_await prepare_(cancel_);
  cancel_.ThrowIfCancelled();
  if (plan.output_token_limit < 0 || plan.output_token_limit > kMaxOutputTokens) {
    throw Error(ErrorCode::kInternal, "invalid planned output token limit");
  }
  if (plan.method == nullptr) {
    throw Error(ErrorCode::kInternal, "session: got a plan without a method");
  }
  output_limit_ = static_cast<std::uint64_t>(plan.output_token_limit);
  method_ = std::move(plan.method);
  if (control_.output == OutputMode::kCollect) {
    reservation_.emplace(resources_.reserve_output(output_limit_));
    output_.reserve(output_limit_);
  }
  run_ = co_await method_->CreateRun(cancel_);
  cancel_.ThrowIfCancelled();
  if (run_ == nullptr) {
    throw Error(ErrorCode::kInternal, "session: got a method without a run");
  }
  state_ = SessionState::kRunning;
  GenerationOutput& output = *this;
  co_return co_await run_->Execute(output, cancel_);
}

// Gives everything back, whatever fails on the way; answers with all errors as one.
std::exception_ptr Session::ReleaseResources(const std::exception_ptr& close_error) {
  run_.reset();
  method_.reset();
  prepare_ = nullptr;
  Attempts attempts;
  if (close_error) {
    attempts.Attempt([&] { std::rethrow_exception(close_error); });
  }
  if (reservation_) {
    attempts.Attempt([&] { reservation_->Close(); });
  }
  try {
    attempts.Finish();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void Session::Finish(GenerationOutcome::Failed failed) {
  GenerationOutcome outcome;
  outcome.end = std::move(failed);
  Finish(std::move(outcome));
}

// Every caller holds the session: on_terminal may let go of the last other reference.
void Session::Finish(GenerationOutcome outcome) {
  if (state_ == SessionState::kTerminal) {
    return;
  }
  state_ = SessionState::kTerminal;
  StopIdle();
  Guarded([&] { external_.Reset(); });
  outcome.committed_tokens = committed_tokens_;
  if (reservation_) {
    outcome.output = std::move(output_);
  }
  outcome_ = std::move(outcome);
  outcome_known_.NotifyAll();
  reader_wake_.NotifyAll();
  if (const std::function<void()> on_terminal = std::exchange(on_terminal_, nullptr)) {
    Guarded(on_terminal);
  }
}

// Without its timer a session could wait for a reader for ever, so it is ended, visibly.
void Session::FailUnwatched(std::exception_ptr error) {
  unwatched_ = std::move(error);
  if (state_ == SessionState::kCreated) {
    Finish(
        GenerationOutcome::Failed{
            FailureCode::kExecutionFailed, DescribeError(unwatched_), std::nullopt
        }
    );
  } else {
    Cancel(CancelReason::kEngineClosed);
  }
}

void Session::ArmIdle() {
  StopIdle();
  try {
    // The armed timer keeps a session alive that nobody else holds, so that it ends in order.
    idle_.Arm([self = shared_from_this()] { self->Cancel(CancelReason::kConsumerIdle); });
  } catch (...) {
    FailUnwatched(std::current_exception());
  }
}

void Session::StopIdle() {
  Guarded([this] { idle_.Stop(); });
}

// For calls into others whose failure must not stop what follows.
void Session::Guarded(const std::function<void()>& action) {
  try {
    action();
  } catch (...) {
    try {
      if (resources_.report) {
        resources_.report(std::current_exception());
      }
    } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
    }
  }
}

}  // namespace hearth
