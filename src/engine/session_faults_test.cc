// Where the reference engine leaves a session's behaviour open: what others throw, and what methods leave behind. The
// result arrives exactly once all the same.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/output_reservations.h"
#include "engine/session.h"
#include "support/session_fixture.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

class SessionFaults : public testing_support::SessionFixture {};

// --- A publication that its method left pending -----------------------------------------------------------------

TEST_F(SessionFaults, ACommitLeftPendingFailsWithoutEventOrTimer) {
  resources.limits.max_queued_tokens = 2;
  OpenRunningStream();
  const auto left = Commit({1, 2, 3, 4});  // the first chunk is queued, the second waits
  loop.RunUntilIdle();
  ASSERT_TRUE(left->pending());
  const std::size_t armed = timer.armed;
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "completed");
  EXPECT_EQ(left->error(), "publication outside method execution");
  EXPECT_EQ(result->value().committed_tokens, 2U);
  EXPECT_EQ(timer.armed, armed);
  EXPECT_FALSE(timer.live());

  // Room that comes later changes nothing.
  const auto event = Next();
  const auto done = Next();
  loop.RunUntilIdle();
  EXPECT_EQ(std::get<CommittedTokens>(EventOf(*event)).token_ids, (std::vector<TokenId>{1, 2}));
  EXPECT_FALSE(done->value());
  EXPECT_EQ(timer.armed, armed);
}

TEST_F(SessionFaults, ACommitLeftPendingFailsEvenWhenRoomCameInTheSameMoment) {
  resources.limits.max_queued_tokens = 2;
  OpenRunningStream();
  const auto left = Commit({1, 2, 3, 4});
  loop.RunUntilIdle();
  execute.Resolve({});        // the method's end comes first ...
  const auto event = Next();  // ... and room before the commit has noticed
  EXPECT_EQ(Outcome(), "completed");
  EXPECT_TRUE(event->value());
  EXPECT_EQ(left->error(), "publication outside method execution");
  EXPECT_EQ(result->value().committed_tokens, 2U);
}

TEST_F(SessionFaults, AProgressLeftPendingFails) {
  resources.limits.max_queued_events = 1;
  OpenRunningStream();
  loop.Spawn(output->Progress(1));
  const auto left = loop.Spawn(output->Progress(2));
  loop.RunUntilIdle();
  ASSERT_TRUE(left->pending());
  execute.Reject("broken");
  EXPECT_EQ(Outcome(), "execution_failed: broken");
  EXPECT_EQ(left->error(), "publication outside method execution");
}

TEST_F(SessionFaults, ACallbackLeftPendingFailsItsCommitAndStaysCounted) {
  Open(OutputMode::kCallback);
  loop.RunUntilIdle();
  const auto left = Commit({1, 2});
  loop.RunUntilIdle();
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "completed");
  EXPECT_EQ(result->value().committed_tokens, 2U);
  EXPECT_TRUE(left->pending());
  tokens.Resolve(true);
  loop.RunUntilIdle();
  EXPECT_EQ(left->error(), "publication outside method execution");
}

// --- Releases, on_terminal and timers that throw -----------------------------------------------------------------

TEST_F(SessionFaults, AFailingReleaseIsAFailedCleanup) {
  release_error = "stuck";
  Open(OutputMode::kCollect);
  loop.RunUntilIdle();
  Commit({5});
  loop.RunUntilIdle();
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "cleanup_failed: stuck (stuck)");
  EXPECT_EQ(result->value().output, std::vector<TokenId>{5});
  EXPECT_EQ(terminals, 1);
  EXPECT_EQ(released, 1) << "a failing release is not tried again";
}

TEST_F(SessionFaults, NoCleanupErrorHidesAnother) {
  close_error = "run";
  release_error = "stuck";
  Open(OutputMode::kCollect);
  loop.RunUntilIdle();
  execute.Reject("broken");
  EXPECT_EQ(Outcome(), "cleanup_failed: broken (resource cleanup failed [run; stuck])");
  EXPECT_EQ(released, 1);
}

TEST_F(SessionFaults, AFailingReleaseBeatsCancellation) {
  release_error = "stuck";
  Open(OutputMode::kCollect);
  loop.RunUntilIdle();
  session->Cancel();
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "cleanup_failed: stuck (stuck)");
}

TEST_F(SessionFaults, OnTerminalThatThrowsIsReportedAfterTheResult) {
  on_terminal = [this] {
    ++terminals;
    throw std::runtime_error("terminal");
  };
  Open(OutputMode::kStream);
  const auto closed = loop.Spawn(session->Close());
  EXPECT_EQ(Outcome(), "cancelled");
  EXPECT_TRUE(closed->value());
  EXPECT_EQ(terminals, 1);
  EXPECT_EQ(reported, std::vector<std::string>{"terminal"});
}

TEST_F(SessionFaults, AReportThatThrowsIsDropped) {
  on_terminal = [] { throw std::runtime_error("terminal"); };
  resources.report = [](const std::exception_ptr&) { throw std::runtime_error("report"); };
  Open(OutputMode::kStream);
  session->Cancel();
  EXPECT_EQ(Outcome(), "cancelled");
}

TEST_F(SessionFaults, AStopThatThrowsEndsNothing) {
  timer.stop_throws = true;
  OpenRunningStream();
  const auto next = Next();
  Commit({1});
  loop.RunUntilIdle();
  EXPECT_TRUE(next->value());
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "completed");
  EXPECT_EQ(terminals, 1);
  EXPECT_FALSE(reported.empty());
  EXPECT_EQ(reported.front(), "cannot stop");
  timer.stop_throws = false;
}

TEST_F(SessionFaults, ATimerThatCannotBeArmedAtTheOpeningFailsTheSession) {
  timer.fail_next_arm = true;
  Open(OutputMode::kStream);
  EXPECT_EQ(session->state(), SessionState::kTerminal);
  EXPECT_EQ(Outcome(), "execution_failed: no timer left");
  EXPECT_EQ(terminals, 1);
}

TEST_F(SessionFaults, ATimerThatCannotBeArmedAfterAReadDeliversTheEventThenFails) {
  OpenRunningStream();
  const auto next = Next();
  loop.RunUntilIdle();
  timer.fail_next_arm = true;
  Commit({1});
  loop.RunUntilIdle();
  EXPECT_TRUE(next->value()) << "the event was read";
  EXPECT_EQ(session->state(), SessionState::kRunning) << "the method has not ended";
  execute.Reject("generation cancelled");
  EXPECT_EQ(Outcome(), "execution_failed: no timer left");
  EXPECT_EQ(result->value().committed_tokens, 1U);
}

TEST_F(SessionFaults, ATimerThatCannotBeArmedForAProducerFailsItsCommit) {
  resources.limits.max_queued_tokens = 1;
  OpenRunningStream();
  timer.fail_next_arm = true;
  const auto commit = Commit({1, 2});
  loop.RunUntilIdle();
  EXPECT_EQ(commit->error(), "generation cancelled");
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "execution_failed: no timer left");
  EXPECT_EQ(terminals, 1);
}

// A cancellation whose subscriptions cannot be ended.
class StickyCancellation final : public Cancellation {
 public:
  std::optional<CancelReason> reason() const override { return std::nullopt; }

  Subscription Subscribe(std::function<void(CancelReason)>) override {
    return Subscription([] { throw std::runtime_error("sticky"); });
  }
};

TEST_F(SessionFaults, AnUnsubscriptionThatThrowsIsReported) {
  control.cancellation = std::make_shared<StickyCancellation>();
  Open(OutputMode::kStream);
  session->Cancel();
  EXPECT_EQ(Outcome(), "cancelled");
  EXPECT_EQ(reported, std::vector<std::string>{"sticky"});
  EXPECT_EQ(terminals, 1);
}

TEST_F(SessionFaults, ACancellationListenerThatThrowsStopsNothing) {
  Subscription listening;
  prepare = [this, &listening](Cancellation& cancellation) {
    listening = cancellation.Subscribe([](CancelReason) { throw std::runtime_error("listener"); });
    return MakePlan();
  };
  OpenRunningStream();
  Commit({1});
  loop.RunUntilIdle();
  session->Cancel();
  EXPECT_EQ(reported, std::vector<std::string>{"listener"});
  execute.Resolve({});
  EXPECT_EQ(Outcome(), "cancelled");
  const auto next = Next();
  loop.RunUntilIdle();
  EXPECT_FALSE(next->value()) << "the queue was dropped all the same";
}

TEST_F(SessionFaults, BrokenPlansFailTheSession) {
  has_method = false;
  Open(OutputMode::kCollect);
  EXPECT_EQ(Outcome(), "execution_failed: session: got a plan without a method");
  EXPECT_EQ(released, 0);
  has_method = true;
  has_run = false;
  Open(OutputMode::kCollect);
  EXPECT_EQ(Outcome(), "execution_failed: session: got a method without a run");
  EXPECT_EQ(released, 1);
  prepare = [](Cancellation&) -> awaitable<GenerationPlan> {
    throw 7;  // NOLINT(bugprone-std-exception-baseclass): what others throw need not be
  };
  Open(OutputMode::kCollect);
  EXPECT_EQ(Outcome(), "execution_failed: unknown error");
  EXPECT_EQ(terminals, 3);
}

TEST_F(SessionFaults, TheSharedCeilingRefusesAndIsGivenBack) {
  OutputReservations reservations(10);
  resources.reserve_output = [&](std::uint64_t wanted) { return reservations.Reserve(wanted); };
  limit = 10;
  Open(OutputMode::kCollect);
  loop.RunUntilIdle();
  EXPECT_EQ(reservations.reserved(), 10U);
  const auto first = session;
  const auto first_result = result;
  limit = 1;
  Open(OutputMode::kCollect);
  EXPECT_EQ(
      Outcome(),
      "execution_failed: output reservation: got 1 tokens, wanted at most the 0 that are left of 10"
  );
  EXPECT_FALSE(result->value().output);
  execute.Resolve({});
  loop.RunUntilIdle();
  EXPECT_EQ(OutcomeStatusName(first_result->value()), "completed");
  EXPECT_EQ(reservations.reserved(), 0U);
}

}  // namespace
}  // namespace hearth
