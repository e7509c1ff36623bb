// Order, ownership and defaults of a session. Its semantics are replayed by tests/conformance/session_runner.cc, its
// behaviour when others fail is in session_faults_test.cc.
#include "engine/session.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "support/session_fixture.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

class SessionTest : public testing_support::SessionFixture {};

TEST_F(SessionTest, DefaultLimits) {
  const SessionLimits limits;
  EXPECT_EQ(limits.idle_timeout, std::chrono::seconds(30));
  EXPECT_EQ(limits.max_queued_events, 32U);
  EXPECT_EQ(limits.max_queued_tokens, 256U);
  EXPECT_EQ(limits.max_top_logprobs, 20U);
  EXPECT_NO_THROW(ValidateSessionLimits(limits));
}

TEST_F(SessionTest, LimitsThatCannotWorkAreRefused) {
  const auto message = [](auto change) -> std::string {
    SessionLimits limits;
    change(limits);
    try {
      ValidateSessionLimits(limits);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(
      message([](SessionLimits& l) { l.max_queued_events = 0; }),
      "session limits: got max_queued_events 0, wanted at least 1"
  );
  EXPECT_EQ(
      message([](SessionLimits& l) { l.max_queued_tokens = 0; }),
      "session limits: got max_queued_tokens 0, wanted at least 1"
  );
  EXPECT_EQ(
      message([](SessionLimits& l) { l.idle_timeout = std::chrono::milliseconds(-1); }),
      "session limits: got idle_timeout -1, wanted at least 1"
  );
  EXPECT_EQ(message([](SessionLimits& l) { l.max_top_logprobs = 0; }), "accepted");
}

TEST_F(SessionTest, ControlsThatCannotWorkAreRefused) {
  const auto open = [this](OutputMode mode) {
    control.output = mode;
    return Session::Open("id", prepare, control, resources, on_terminal);
  };
  EXPECT_THROW(open(OutputMode::kCallback), Error);
  control.on_tokens = [this](std::span<const TokenId>, LogprobsView) { return tokens.Wait(); };
  EXPECT_THROW(open(OutputMode::kStream), Error);
  control.on_tokens = nullptr;
  resources.reserve_output = nullptr;
  EXPECT_THROW(open(OutputMode::kCollect), Error);
  resources.limits.max_queued_tokens = 0;
  EXPECT_THROW(open(OutputMode::kStream), Error);
  resources.limits.max_queued_tokens = 1;
  resources.timer = nullptr;
  EXPECT_THROW(open(OutputMode::kStream), Error);
  EXPECT_EQ(terminals, 0);
}

TEST_F(SessionTest, MetricsReachTheOutcome) {
  Open(OutputMode::kCollect);
  loop.RunUntilIdle();
  const MethodResult answer{FinishReason::kLength, {.prompt_tokens = 7, .cached_prompt_tokens = 3}};
  execute.Resolve(answer);
  EXPECT_EQ(Outcome(), "completed");
  EXPECT_EQ(std::get<GenerationOutcome::Completed>(result->value().end).result, answer);
}

TEST_F(SessionTest, EveryWaiterGetsTheOneResultLateOnesToo) {
  Open(OutputMode::kCollect);
  loop.RunUntilIdle();
  Commit({1, 2, 3});
  loop.RunUntilIdle();
  const auto second = loop.Spawn(session->Result());
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "completed");
  const auto late = loop.Spawn(session->Result());
  loop.RunUntilIdle();
  EXPECT_EQ(second->value(), result->value());
  EXPECT_EQ(late->value(), result->value());
  EXPECT_EQ(late->value().output, (std::vector<TokenId>{1, 2, 3}));
}

// --- Order and ownership -----------------------------------------------------------------------------------------

TEST_F(SessionTest, ANextThatWasPostedBeforeTheTimerFiredWins) {
  Open(OutputMode::kStream);
  TakeReader();
  const auto next = Next();
  timer.Fire();
  loop.RunUntilIdle();
  EXPECT_EQ(session->state(), SessionState::kRunning);
  EXPECT_TRUE(next->pending());
}

TEST_F(SessionTest, ANextThatWasPostedAfterTheTimerFiredLoses) {
  Open(OutputMode::kStream);
  TakeReader();
  timer.Fire();
  const auto next = Next();
  loop.RunUntilIdle();
  EXPECT_EQ(Outcome(), "cancelled");
  EXPECT_FALSE(next->value());
}

TEST_F(SessionTest, NobodyIsResumedInsideTheCallThatWokeHim) {
  OpenRunningStream();
  const auto next = Next();
  loop.RunUntilIdle();
  execute.Resolve({});
  session->Cancel();
  EXPECT_EQ(session->state(), SessionState::kRunning);
  EXPECT_TRUE(next->pending());
  EXPECT_EQ(Outcome(), "cancelled");
  EXPECT_FALSE(next->value());
}

TEST_F(SessionTest, StartingDoesNotRunTheCallersCodeInside) {
  bool prepared = false;
  prepare = [&](Cancellation&) {
    prepared = true;
    return MakePlan();
  };
  boost::asio::post(loop.executor(), [&] {
    Open(OutputMode::kCollect);
    EXPECT_FALSE(prepared);
    EXPECT_EQ(session->state(), SessionState::kPreparing);
  });
  loop.RunUntilIdle();
  EXPECT_TRUE(prepared);
}

TEST_F(SessionTest, ACancellationBeforeThePreparationHasBegunSkipsIt) {
  bool prepared = false;
  prepare = [&](Cancellation&) {
    prepared = true;
    return MakePlan();
  };
  Open(OutputMode::kCollect);
  session->Cancel(CancelReason::kEngineClosed);
  EXPECT_EQ(session->state(), SessionState::kPreparing);
  EXPECT_EQ(Outcome(), "cancelled");
  EXPECT_FALSE(prepared);
}

TEST_F(SessionTest, OthersMayCancelFromWithinItsOwnCalls) {
  on_terminal = [this] {
    ++terminals;
    session->Cancel();
  };
  prepare = [this](Cancellation&) {
    session->Cancel(CancelReason::kConsumerClosed);
    session->Cancel(CancelReason::kEngineClosed);
    return MakePlan();
  };
  Open(OutputMode::kCollect);
  EXPECT_EQ(Outcome(), "cancelled");
  EXPECT_EQ(
      std::get<GenerationOutcome::Cancelled>(result->value().end).reason,
      CancelReason::kConsumerClosed
  );
  EXPECT_EQ(terminals, 1);
}

TEST_F(SessionTest, AStreamThatEverybodyForgotEndsByItsTimerAndIsFreed) {
  const std::weak_ptr<Session> weak = Session::Open("id", prepare, control, resources, on_terminal);
  EXPECT_FALSE(weak.expired());
  EXPECT_EQ(terminals, 0);
  timer.Fire();
  loop.RunUntilIdle();
  EXPECT_EQ(terminals, 1);
  EXPECT_TRUE(weak.expired());
}

TEST_F(SessionTest, ACollectionThatEverybodyForgotEndsAndIsFreed) {
  control.output = OutputMode::kCollect;
  std::weak_ptr<Session> weak = Session::Open("id", prepare, control, resources, on_terminal);
  loop.RunUntilIdle();
  EXPECT_FALSE(weak.expired());
  execute.Resolve({});
  loop.RunUntilIdle();
  EXPECT_EQ(terminals, 1);
  EXPECT_TRUE(weak.expired());
}

TEST_F(SessionTest, OnTerminalMayDropTheLastReference) {
  on_terminal = [this] {
    ++terminals;
    session.reset();
  };
  session = Session::Open("id", prepare, control, resources, on_terminal);
  std::weak_ptr<Session> weak = session;
  session->Cancel();
  EXPECT_EQ(terminals, 1);
  EXPECT_TRUE(weak.expired());
}

TEST_F(SessionTest, TheCallersCancellationDoesNotKeepASessionAlive) {
  const auto cancellation = std::make_shared<CancellationSource>();
  control.cancellation = cancellation;
  std::weak_ptr<Session> weak;
  {
    const auto opened = Session::Open("id", prepare, control, resources, on_terminal);
    weak = opened;
    opened->Cancel();
  }
  EXPECT_TRUE(weak.expired());
  EXPECT_NO_THROW(cancellation->Cancel(CancelReason::kRequested));
  EXPECT_EQ(terminals, 1);
}

// Whatever the bounds and the sizes of commits: all tokens arrive, in order, and the bounds hold.
TEST_F(SessionTest, AStreamDeliversEverythingInOrderWithinItsBounds) {
  for (std::size_t events = 1; events <= 3; ++events) {
    for (std::size_t bound = 1; bound <= 5; ++bound) {
      resources.limits.max_queued_events = events;
      resources.limits.max_queued_tokens = bound;
      OpenRunningStream();
      std::vector<TokenId> sent;
      std::vector<TokenId> received;
      std::uint64_t sequence = 0;
      for (std::size_t size = 0; size <= 9; ++size) {
        std::vector<TokenId> ids(size);
        std::iota(ids.begin(), ids.end(), static_cast<TokenId>(sent.size()));
        sent.insert(sent.end(), ids.begin(), ids.end());
        const auto commit = Commit(ids);
        loop.RunUntilIdle();
        while (received.size() < sent.size()) {
          const auto next = Next();
          loop.RunUntilIdle();
          const auto& event = std::get<CommittedTokens>(EventOf(*next));
          EXPECT_EQ(event.sequence, sequence++);
          EXPECT_LE(event.token_ids.size(), bound);
          received.insert(received.end(), event.token_ids.begin(), event.token_ids.end());
        }
        EXPECT_EQ(commit->value(), CommitAnswer::kContinue);
      }
      EXPECT_EQ(received, sent);
      execute.Resolve({});
      EXPECT_EQ(Outcome(), "completed");
    }
  }
}

// Other threads reach a session by posting to its loop, as the server does.
TEST_F(SessionTest, ServesAReaderOnAnotherThread) {
  boost::asio::io_context context;
  auto work = boost::asio::make_work_guard(context);
  resources.executor = context.get_executor();
  resources.limits.max_queued_events = 2;
  limit = 1000;
  std::thread engine([&] { context.run(); });
  const auto call = [&](auto coroutine) {
    return boost::asio::co_spawn(context, std::move(coroutine), boost::asio::use_future).get();
  };

  struct Steps {
    static awaitable<std::shared_ptr<Session>> Open(SessionTest* test) {
      co_return Session::Open("id", test->prepare, test->control, test->resources, nullptr);
    }

    static awaitable<MethodResult> Produce(GenerationOutput* output) {
      for (TokenId id = 0; id < 200; ++id) {
        co_await output->Commit(std::span<const TokenId>(&id, 1));
      }
      co_return MethodResult{};
    }
  };

  produce = &Steps::Produce;
  const std::shared_ptr<Session> shared = call(Steps::Open(this));
  EventReader events = shared->TakeReader();
  std::vector<TokenId> received;
  while (const auto event = call(events.Next())) {
    received.push_back(std::get<CommittedTokens>(*event).token_ids.at(0));
  }
  EXPECT_EQ(OutcomeStatusName(call(shared->Result())), "completed");
  work.reset();
  engine.join();
  ASSERT_EQ(received.size(), 200U);
  for (TokenId id = 0; id < 200; ++id) {
    EXPECT_EQ(received[id], id);
  }
}

}  // namespace
}  // namespace hearth
