#include "engine/engine_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine_test_model.h"
#include "hearth/awaitable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

namespace asio = boost::asio;

using Event = std::optional<GenerationEvent>;

// What a Completion was given, for a test that waits.
template <class T>
T Wait(const std::function<void(Completion<T>)>& start) {
  const auto answer = std::make_shared<std::promise<T>>();
  start([answer](const std::exception_ptr& error, T value) {
    error ? answer->set_exception(error) : answer->set_value(std::move(value));
  });
  return answer->get_future().get();
}

template <class Call>
std::optional<ErrorCode> CodeOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

std::string Status(const GenerationOutcome& outcome) {
  if (const auto* cancelled = std::get_if<GenerationOutcome::Cancelled>(&outcome.end)) {
    return std::string(CancelReasonName(cancelled->reason));
  }
  return std::string(OutcomeStatusName(outcome));
}

// An engine over the counting model: after token t comes t + 1.
class EngineThreadTest : public testing::Test {
 protected:
  explicit EngineThreadTest(std::size_t batch = 8, std::size_t queue = 64) {
    EngineLimits limits;
    limits.batch = batch;
    limits.queue = queue;
    limits.pages = 1000;
    engine_ = std::make_unique<EngineThread>(
        ComputeParts{
            .model = &model_,
            .team = &team_,
            .kernels = &kernels_,
            .vocabulary = {.size = CountingModel::kVocabulary},
            .report = [this](const std::exception_ptr&) { ++reported_; },
        },
        limits
    );
  }

  static GenerationRequest Request(TokenId last, std::uint64_t max_tokens) {
    GenerationRequest request;
    request.prompt = {1, 2, last};
    request.max_tokens = max_tokens;
    return request;
  }

  static std::vector<TokenId> Count(TokenId from, std::size_t count) {
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<TokenId>((from + 1 + i) % CountingModel::kVocabulary));
    }
    return tokens;
  }

  GenerationHandle Open(GenerationRequest request, Delivery delivery = {}) {
    return Wait<GenerationHandle>([&](Completion<GenerationHandle> done) {
      engine_->Open(std::move(request), std::move(delivery), std::move(done));
    });
  }

  static Event Next(const GenerationHandle& handle) {
    return Wait<Event>([&](Completion<Event> done) { handle.Next(std::move(done)); });
  }

  static GenerationOutcome Result(const GenerationHandle& handle) {
    return Wait<GenerationOutcome>([&](Completion<GenerationOutcome> done) {
      handle.Result(std::move(done));
    });
  }

  static std::vector<TokenId> ReadAll(const GenerationHandle& handle) {
    std::vector<TokenId> tokens;
    while (const Event event = Next(handle)) {
      if (const auto* committed = std::get_if<CommittedTokens>(&*event)) {
        tokens.insert(tokens.end(), committed->token_ids.begin(), committed->token_ids.end());
      }
    }
    return tokens;
  }

  // Waits, on the real loop, until all requests have left.
  void WaitUntilIdle() const {
    while (engine_->Gauges().sessions != 0) {
      std::this_thread::yield();
    }
  }

  CountingModel model_;
  WorkerTeam team_{1};
  SamplingKernels kernels_ = SamplingKernelsFor(Isa::kPortable);
  std::atomic<int> reported_ = 0;
  std::unique_ptr<EngineThread> engine_;
};

TEST_F(EngineThreadTest, TheThreeDeliveriesGiveTheSameAnswer) {
  const GenerationHandle stream = Open(Request(10, 40));
  EXPECT_EQ(ReadAll(stream), Count(10, 40));
  EXPECT_EQ(Result(stream).committed_tokens, 40u);

  const GenerationHandle collect = Open(Request(10, 40), {.output = OutputMode::kCollect});
  EXPECT_EQ(Result(collect).output, Count(10, 40));

  std::vector<TokenId> called;
  const GenerationHandle callback = Open(
      Request(10, 40),
      {.output = OutputMode::kCallback, .on_tokens = [&](std::span<const TokenId> ids, auto) {
         called.insert(called.end(), ids.begin(), ids.end());
         return called.size() < 25;
       }}
  );
  const GenerationOutcome outcome = Result(callback);
  EXPECT_EQ(Status(outcome), "completed");
  // The commit that brought the 25th may have brought more.
  EXPECT_GE(called.size(), 25u);
  EXPECT_EQ(called, Count(10, called.size()));

  EXPECT_EQ(CodeOf([&] { Next(collect); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([&] { Open({}); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(
      CodeOf([&] { Open(Request(1, 1), {.output = OutputMode::kCallback}); }),
      ErrorCode::kInvalidArgument
  );
}

TEST_F(EngineThreadTest, ACallbackThatThrowsFailsItsOwnRequestOnly) {
  const GenerationHandle good = Open(Request(10, 300), {.output = OutputMode::kCollect});
  const GenerationHandle bad =
      Open(Request(20, 300), {.output = OutputMode::kCallback, .on_tokens = [](auto, auto) -> bool {
                                throw std::runtime_error("a broken consumer");
                              }});
  const GenerationOutcome outcome = Result(bad);
  ASSERT_EQ(Status(outcome), "failed");
  EXPECT_EQ(std::get<GenerationOutcome::Failed>(outcome.end).message, "a broken consumer");
  EXPECT_EQ(Result(good).output, Count(10, 300));
}

TEST_F(EngineThreadTest, ManyThreadsAskCancelAndDropAtOnce) {
  constexpr int kThreads = 4;
  constexpr TokenId kRounds = 15;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (TokenId round = 0; round < kRounds; ++round) {
        const TokenId first = static_cast<TokenId>(t) * 100 + round;
        const GenerationHandle whole = Open(Request(first, 30));
        const GenerationHandle cancelled = Open(Request(first, 5000));
        const GenerationHandle dropped = Open(Request(first, 5000));
        Next(dropped);
        Next(cancelled);
        std::thread canceller([cancelled] { cancelled.Cancel(); });
        EXPECT_EQ(ReadAll(whole), Count(first, 30));
        EXPECT_EQ(Status(Result(cancelled)), "requested");
        canceller.join();
        EXPECT_GE(engine_->Gauges().sessions, 1u);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  WaitUntilIdle();
  const EngineSnapshot gauges = engine_->Gauges();
  EXPECT_EQ(gauges.queued + gauges.preparing + gauges.active + gauges.parked, 0u);
  EXPECT_EQ(gauges.pages_used, gauges.pages_cached);
  EXPECT_EQ(reported_, 0);
}

TEST_F(EngineThreadTest, TheLastHandleThatGoesCancels) {
  GenerationHandle first = Open(Request(1, 9000));
  GenerationHandle copy = first;
  Next(first);
  first = {};
  EXPECT_TRUE(Next(copy));
  copy = {};
  WaitUntilIdle();
}

TEST_F(EngineThreadTest, ACallThatWaitsEndsWhenItsHandleIsDropped) {
  GenerationHandle handle = Open(Request(1, 9000));
  Next(handle);
  std::promise<std::string> ended;
  handle.Result([&](const std::exception_ptr& error, const GenerationOutcome& outcome) {
    ended.set_value(error ? "error" : Status(outcome));
  });
  handle = {};
  EXPECT_EQ(ended.get_future().get(), "consumer_closed");
}

TEST_F(EngineThreadTest, ACompletionMayCallOn) {
  const GenerationHandle handle = Open(Request(10, 50));
  std::vector<TokenId> tokens;
  std::promise<void> ended;
  std::function<void(std::exception_ptr, Event)> take = [&](const std::exception_ptr& error,
                                                            const Event& event) {
    if (error || !event) {
      ended.set_value();
      return;
    }
    if (const auto* committed = std::get_if<CommittedTokens>(&*event)) {
      tokens.insert(tokens.end(), committed->token_ids.begin(), committed->token_ids.end());
    }
    handle.Next(take);
  };
  handle.Next(take);
  ended.get_future().get();
  EXPECT_EQ(tokens, Count(10, 50));
}

TEST_F(EngineThreadTest, ACompletionThatThrowsIsReported) {
  const GenerationHandle handle = Open(Request(10, 5));
  std::promise<void> called;
  handle.Next([&](const std::exception_ptr&, const Event&) {
    called.set_value();
    throw std::runtime_error("oops");
  });
  called.get_future().get();
  EXPECT_EQ(ReadAll(handle).size(), 4u);
  EXPECT_EQ(reported_, 1);
}

TEST_F(EngineThreadTest, CloseCancelsEverythingAndHandlesStillTell) {
  const GenerationHandle ended = Open(Request(10, 5));
  ReadAll(ended);
  const GenerationHandle running = Open(Request(10, 9000));
  Next(running);
  const GenerationHandle unread = Open(Request(10, 5));
  std::promise<ErrorCode> own;
  ended.Result([&](const std::exception_ptr&, const GenerationOutcome&) {
    own.set_value(CodeOf([&] { engine_->Close(); }).value_or(ErrorCode::kInternal));
  });
  EXPECT_EQ(own.get_future().get(), ErrorCode::kInvalidArgument);

  std::thread other([&] { engine_->Close(); });
  engine_->Close();
  other.join();
  engine_->Close();

  EXPECT_EQ(Status(Result(ended)), "completed");
  EXPECT_EQ(Status(Result(running)), "engine_closed");
  EXPECT_EQ(Status(Result(unread)), "engine_closed");
  EXPECT_EQ(CodeOf([&] { Open(Request(1, 1)); }), ErrorCode::kCancelled);
  const EngineSnapshot gauges = engine_->Gauges();
  EXPECT_EQ(gauges.sessions + gauges.active + gauges.pages_used + gauges.leases, 0u);
}

TEST_F(EngineThreadTest, HandlesOutliveTheEngine) {
  GenerationHandle handle = Open(Request(10, 9000));
  Next(handle);
  std::promise<std::string> outcome;
  handle.Result([&](const std::exception_ptr& error, const GenerationOutcome& known) {
    outcome.set_value(error ? "error" : Status(known));
  });
  engine_.reset();
  // What was asked before the end was answered.
  EXPECT_EQ(outcome.get_future().get(), "engine_closed");
  handle.Cancel();
  EXPECT_EQ(CodeOf([&] { Next(handle); }), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf([&] { Result(handle); }), ErrorCode::kCancelled);
  handle = {};
}

// Sessions on an executor with two threads of its own, many at once.
TEST_F(EngineThreadTest, CoroutinesComeBackToTheirOwnExecutor) {
  asio::thread_pool pool(2);
  std::vector<std::future<std::vector<TokenId>>> answers;
  std::atomic<int> elsewhere = 0;
  for (TokenId first = 0; first < 12; ++first) {
    auto answer = std::make_shared<std::promise<std::vector<TokenId>>>();
    answers.push_back(answer->get_future());
    asio::co_spawn(
        pool,
        [&, first]() -> asio::awaitable<std::vector<TokenId>> {
          GenerationHandle handle = co_await hearth::Open(*engine_, Request(first, 30));
          std::vector<TokenId> tokens;
          while (true) {
            const Event event = co_await hearth::Next(handle);
            elsewhere += pool.get_executor().running_in_this_thread() ? 0 : 1;
            if (!event) {
              break;
            }
            if (const auto* committed = std::get_if<CommittedTokens>(&*event)) {
              tokens.insert(tokens.end(), committed->token_ids.begin(), committed->token_ids.end());
            }
          }
          const GenerationOutcome outcome = co_await hearth::Result(handle);
          EXPECT_EQ(outcome.committed_tokens, tokens.size());
          co_return tokens;
        },
        [answer](const std::exception_ptr& error, std::vector<TokenId> tokens) {
          error ? answer->set_exception(error) : answer->set_value(std::move(tokens));
        }
    );
  }
  for (TokenId first = 0; first < 12; ++first) {
    EXPECT_EQ(answers[first].get(), Count(first, 30));
  }
  pool.join();
  engine_->Close();  // before the pool goes
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(EngineThreadTest, ErrorsReachTheCoroutine) {
  asio::io_context loop(1);
  std::optional<ErrorCode> code;
  asio::co_spawn(
      loop,
      [&]() -> asio::awaitable<void> {
        try {
          GenerationRequest empty;
          co_await hearth::Open(*engine_, empty);
        } catch (const Error& error) {
          code = error.code();
        }
      },
      [](const std::exception_ptr&) {}
  );
  loop.run();
  EXPECT_EQ(code, ErrorCode::kInvalidArgument);
  engine_->Close();  // before the loop goes
}

class NarrowEngineThreadTest : public EngineThreadTest {
 protected:
  NarrowEngineThreadTest() : EngineThreadTest(1, 1) {}
};

TEST_F(NarrowEngineThreadTest, AFullQueueRefuses) {
  const GenerationHandle runs = Open(Request(1, 9000));
  const GenerationHandle waits = Open(Request(2, 10));
  EXPECT_EQ(CodeOf([&] { Open(Request(3, 10)); }), ErrorCode::kOverloaded);
  runs.Cancel();
  EXPECT_EQ(ReadAll(waits), Count(2, 10));
}

}  // namespace
}  // namespace hearth
