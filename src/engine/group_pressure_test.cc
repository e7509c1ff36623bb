// Rows that want what others hold: places, pages, a turn. Whoever can run alone must come to an end, whoever else is there and
// however they behave.
#include <gtest/gtest.h>

#include "engine/engine_test_fixture.h"

namespace hearth {
namespace {

class GroupPressure : public EngineFixture {
 protected:
  GroupPressure() { limits_.session.max_queued_tokens = 16; }

  // Begins an answer and never reads it to its end: the row is parked when this returns.
  EventReader Unread(std::vector<TokenId> prompt) {
    GenerationRequest request;
    request.prompt = std::move(prompt);
    request.max_tokens = 400;
    unread_.push_back(Stream(std::move(request)));
    EventReader reader = unread_.back()->TakeReader();
    const auto next = loop_.Spawn(reader.Next());
    RunToRest();
    EXPECT_FALSE(next->pending());
    return reader;
  }

  // A loop that is asked for work for ever is what these tests look for, so it must not hold them up.
  void RunToRest() {
    for (int i = 0; i < 100'000; ++i) {
      if (!loop_.RunOne()) {
        return;
      }
    }
    FAIL() << "the loop finds no rest";
  }

  std::optional<std::vector<TokenId>> OutputAtRest(const std::shared_ptr<Session>& session) {
    const auto result = loop_.Spawn(session->Result());
    RunToRest();
    return result->pending() ? std::nullopt : result->value().output;
  }

  void EndUnread() {
    for (const auto& session : unread_) {
      session->Cancel();
    }
    RunToRest();
  }

  std::vector<std::shared_ptr<Session>> unread_;
};

TEST_F(GroupPressure, ReadersThatNeverReadKeepNoPlaceFromThoseWhoWait) {
  limits_.batch = 2;
  EventReader first = Unread({1});
  EventReader second = Unread({500});
  const auto waiting = Collect({30}, 4);
  EXPECT_EQ(OutputAtRest(waiting), Count(31, 4));
  EXPECT_EQ(engine().gauges().parked, 2u);
  EXPECT_EQ(engine().gauges().leases, 0u);
  // The one that gave its place up goes on where it was.
  std::vector<TokenId> got;
  for (int events = 0; events < 40; ++events) {
    if (const auto event = Read(second)) {
      if (const auto* tokens = std::get_if<CommittedTokens>(&*event)) {
        got.insert(got.end(), tokens->token_ids.begin(), tokens->token_ids.end());
      }
    }
  }
  ASSERT_GT(got.size(), 40u);
  EXPECT_EQ(got, Count(got.front(), got.size()));
  EndUnread();
}

TEST_F(GroupPressure, WhoWaitsForPagesStartsWhenTheirHolderIsParked) {
  limits_.pages = 3;
  GenerationRequest request;
  request.prompt = std::vector<TokenId>(100, 1);
  request.max_tokens = 80;
  unread_.push_back(Stream(request));
  EventReader reader = unread_.back()->TakeReader();
  std::shared_ptr<Session> waiting;
  model_.on_forward = [&] {
    if (model_.forwards.size() == 2) {  // it decodes, and is not parked yet
      waiting = Collect(std::vector<TokenId>(100, 7), 4);
    }
  };
  const auto next = loop_.Spawn(reader.Next());
  RunToRest();
  ASSERT_NE(waiting, nullptr);
  EXPECT_TRUE(OutputAtRest(waiting).has_value());
  EndUnread();
}

TEST_F(GroupPressure, WhatIsCachedBeforeAParkedRowsOwnPagesIsNoObstacle) {
  limits_.pages = 4;
  ASSERT_TRUE(OutputAtRest(Collect(std::vector<TokenId>(65, 1), 1)));
  // Its first page is its own, and its second one is cached after the first one of the other.
  GenerationRequest request;
  request.prompt = std::vector<TokenId>(130, 1);
  request.prompt_scores = [](std::size_t, const TokenLogprobs&) {};
  unread_.push_back(Stream(request));
  EventReader reader = unread_.back()->TakeReader();
  const auto next = loop_.Spawn(reader.Next());
  RunToRest();
  ASSERT_EQ(engine().gauges().parked, 1u);
  ASSERT_EQ(engine().gauges().pages_used, 4u);
  EXPECT_EQ(OutputAtRest(Collect(std::vector<TokenId>(200, 7), 4)), Count(8, 4));
  EndUnread();
}

TEST_F(GroupPressure, ProgressDoesNotGoBackWithThePages) {
  limits_.pages = 4;
  limits_.prompt_cache = false;
  limits_.prefill_tokens = 60;  // the older one's prompt
  limits_.step_tokens = 2;      // one of them for the row that decodes
  limits_.session.max_queued_events = 1000;
  Collect(std::vector<TokenId>(60, 1), 100);
  GenerationRequest request;
  request.prompt = std::vector<TokenId>(125, 7);
  request.max_tokens = 1;
  EventReader reader = Stream(request)->TakeReader();
  std::vector<double> progress;
  while (const auto event = Read(reader)) {
    if (const auto* shown = std::get_if<GenerationProgress>(&*event)) {
      progress.push_back(shown->completed);
    }
  }
  ASSERT_GE(engine().gauges().preemptions, 1u);
  ASSERT_GT(progress.size(), 2u);
  EXPECT_TRUE(std::ranges::is_sorted(progress));
}

}  // namespace
}  // namespace hearth
