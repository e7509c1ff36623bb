#include "engine/engine_thread.h"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <future>
#include <optional>
#include <utility>

#include "engine/loop_timer.h"
#include "engine/session.h"
#include "engine/step_runner.h"
#include "hearth/error.h"
#include "platform/gate.h"
#include "platform/job_thread.h"

namespace hearth {
namespace {

namespace asio = boost::asio;

std::exception_ptr Gone() {
  return std::make_exception_ptr(Error(ErrorCode::kCancelled, "engine: closed"));
}

// What handles need of the engine, and keep when it is gone.
struct Loop {
  explicit Loop(std::function<void(std::exception_ptr)> reporter) : report(std::move(reporter)) {}

  // Until nothing is left to do.
  void Run() {
    while (true) {
      try {
        context.run();
        return;
      } catch (...) {
        Report(std::current_exception());
      }
    }
  }

  void Report(const std::exception_ptr& error) const {
    if (report) {
      report(error);
    }
  }

  // Gives the answer; on the loop, or on the caller of a closed engine.
  template <class T>
  void Answer(const Completion<T>& done, std::exception_ptr error, T value) const {
    try {
      done(std::move(error), std::move(value));
    } catch (...) {
      Report(std::current_exception());
    }
  }

  std::function<void(std::exception_ptr)> report;
  asio::io_context context{1};
  LoopTimer timer{context.get_executor()};
  // Open while the loop's thread takes handlers: what was posted inside is run.
  Gate gate;
};

// Starts `work`, which returns an awaitable, on the loop and gives its answer.
template <class T, class Work>
void RunOnLoop(Loop& loop, Completion<T> done, Work work) {
  const bool entered = loop.gate.Enter([&] {
    // Posted: a coroutine that is spawned on its own thread begins at once, inside the gate.
    asio::post(loop.context, [&loop, done, work = std::move(work)]() mutable {
      asio::co_spawn(
          loop.context,
          std::move(work),
          [&loop, done = std::move(done)](std::exception_ptr error, T value) {
            loop.Answer(done, std::move(error), std::move(value));
          }
      );
    });
  });
  if (!entered) {
    loop.Answer(done, Gone(), T{});
  }
}

OnTokens Awaited(TokenCallback callback) {
  if (!callback) {
    return nullptr;
  }
  return [callback = std::move(callback)](
             std::span<const TokenId> token_ids, LogprobsView logprobs
         ) -> asio::awaitable<bool> {
    co_return callback(
        token_ids, logprobs.value_or(std::span<const std::optional<TokenLogprobs>>{})
    );
  };
}

}  // namespace

struct GenerationHandle::State {
  State(
      std::shared_ptr<Loop> home, std::shared_ptr<Session> opened, std::optional<EventReader> taken
  )
      : loop(std::move(home)), session(std::move(opened)), reader(std::move(taken)) {}

  // The session's state belongs to the loop: it is let go of there, or after the loop.
  ~State() {
    reader.reset();
    loop->gate.Enter([&] {
      asio::post(loop->context, [dropped = std::move(session)] {
        dropped->Cancel(CancelReason::kConsumerClosed);
      });
    });
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<Loop> loop;
  std::shared_ptr<Session> session;
  std::optional<EventReader> reader;
};

void GenerationHandle::Next(Completion<std::optional<GenerationEvent>> done) const {
  // The work holds no handle: one that is dropped meanwhile cancels.
  RunOnLoop<std::optional<GenerationEvent>>(
      *state_->loop,
      std::move(done),
      [reader = state_->reader]() mutable -> asio::awaitable<std::optional<GenerationEvent>> {
        if (!reader) {
          throw Error(ErrorCode::kInvalidArgument, "next: only a stream has events to read");
        }
        co_return co_await reader->Next();
      }
  );
}

void GenerationHandle::Result(Completion<GenerationOutcome> done) const {
  RunOnLoop<GenerationOutcome>(*state_->loop, std::move(done), [session = state_->session] {
    return session->Result();
  });
}

void GenerationHandle::Cancel(CancelReason reason) const {
  state_->loop->gate.Enter([&] {
    asio::post(state_->loop->context, [session = state_->session, reason] {
      session->Cancel(reason);
    });
  });
}

// Ends in the reverse order: the steps' thread before the loop that it answers to.
struct EngineThread::State {
  State(const ComputeParts& parts, const EngineLimits& limits)
      : loop(std::make_shared<Loop>(parts.report)),
        guard(loop->context.get_executor()),
        engine(
            EngineParts{
                .executor = loop->context.get_executor(),
                .timer = &loop->timer,
                .steps = &runner,
                .model = parts.model,
                .team = parts.team,
                .kernels = parts.kernels,
                .vocabulary = parts.vocabulary,
                .report = parts.report,
            },
            limits
        ) {
    thread.Start([here = loop.get()] { here->Run(); });
  }

  std::shared_ptr<Loop> loop;
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  JobThread steps{"hearth-steps"};
  ThreadStepRunner runner{steps};
  InferenceEngine engine;
  JobThread thread{"hearth-loop"};
};

EngineThread::EngineThread(const ComputeParts& parts, const EngineLimits& limits)
    : state_(std::make_unique<State>(parts, limits)) {
}

EngineThread::~EngineThread() {
  try {
    Close();
  } catch (...) {
    state_->loop->Report(std::current_exception());
  }
  state_->loop->gate.Shut();
  state_->guard.reset();
  state_->thread.Wait();
}

void EngineThread::Open(
    GenerationRequest request, Delivery delivery, Completion<GenerationHandle> done
) {
  RunOnLoop<GenerationHandle>(
      *state_->loop,
      std::move(done),
      [state = state_.get(),
       request = std::move(request),
       delivery = std::move(delivery)]() mutable -> asio::awaitable<GenerationHandle> {
        RunControl control;
        control.output = delivery.output;
        control.on_tokens = Awaited(std::move(delivery.on_tokens));
        std::shared_ptr<Session> session =
            state->engine.Open(std::move(request), std::move(control));
        std::optional<EventReader> reader;
        if (delivery.output == OutputMode::kStream) {
          reader = session->TakeReader();
        }
        co_return GenerationHandle(
            std::make_shared<GenerationHandle::State>(
                state->loop, std::move(session), std::move(reader)
            )
        );
      }
  );
}

void EngineThread::Close() {
  if (state_->loop->context.get_executor().running_in_this_thread()) {
    throw Error(
        ErrorCode::kInvalidArgument, "close: got the engine's own thread, wanted one that can wait"
    );
  }
  // Shared: the loop may still be inside the call that gives the answer when the caller has it already.
  const auto closed = std::make_shared<std::promise<void>>();
  asio::post(state_->loop->context, [state = state_.get(), closed] {
    asio::co_spawn(
        state->loop->context, state->engine.Close(), [closed](const std::exception_ptr& error) {
          error ? closed->set_exception(error) : closed->set_value();
        }
    );
  });
  closed->get_future().get();
}

EngineSnapshot EngineThread::Gauges() const {
  return Snapshot(state_->engine.gauges());
}

const EngineLimits& EngineThread::limits() const {
  return state_->engine.limits();
}

EngineSnapshot Snapshot(const EngineGauges& gauges) {
  const auto read = [](const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  return {
      .sessions = read(gauges.sessions),
      .queued = read(gauges.queued),
      .preparing = read(gauges.preparing),
      .active = read(gauges.active),
      .parked = read(gauges.parked),
      .leases = read(gauges.leases),
      .pages_used = read(gauges.pages_used),
      .pages_cached = read(gauges.pages_cached),
      .steps = read(gauges.steps),
      .prompt_tokens = read(gauges.prompt_tokens),
      .generated_tokens = read(gauges.generated_tokens),
      .preemptions = read(gauges.preemptions),
      .cache_hits = read(gauges.cache_hits),
      .cache_misses = read(gauges.cache_misses),
      .cached_tokens = read(gauges.cached_tokens),
  };
}

}  // namespace hearth
