#include "engine/inference_engine.h"

#include <gtest/gtest.h>

#include "engine/engine_test_fixture.h"
#include "hearth/error.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

using Sizes = std::vector<std::size_t>;

class InferenceEngineTest : public EngineFixture {};

TEST_F(InferenceEngineTest, AnswersAndCounts) {
  const auto session = Collect(Count(1, 5), 3);
  const GenerationOutcome outcome = OutcomeOf(session);
  EXPECT_EQ(outcome.output, Count(6, 3));
  const auto& completed = std::get<GenerationOutcome::Completed>(outcome.end);
  EXPECT_EQ(completed.result.finish_reason, FinishReason::kLength);
  EXPECT_EQ(completed.result.metrics.prompt_tokens, 5u);
  EXPECT_EQ(completed.result.metrics.generated_tokens, 3u);
  EXPECT_EQ(completed.result.metrics.decode_steps, 2u);
  EXPECT_EQ(model_.forwards, (std::vector<Sizes>{{5}, {1}, {1}}));
  const EngineGauges& gauges = engine().gauges();
  EXPECT_EQ(gauges.sessions, 0u);
  EXPECT_EQ(gauges.active, 0u);
  EXPECT_EQ(gauges.steps, 3u);
  EXPECT_EQ(gauges.prompt_tokens, 5u);
  EXPECT_EQ(gauges.generated_tokens, 3u);
}

TEST_F(InferenceEngineTest, PreparesJoinersTogether) {
  const auto a = Collect(Count(1, 5), 2);
  const auto b = Collect(Count(20, 7), 2);
  const auto c = Collect(Count(40, 3), 2);
  EXPECT_EQ(OutcomeOf(c).output, Count(43, 2));
  EXPECT_EQ(OutcomeOf(a).output, Count(6, 2));
  EXPECT_EQ(model_.forwards, (std::vector<Sizes>{{5, 7, 3}, {1, 1, 1}}));
}

TEST_F(InferenceEngineTest, CutsAPromptUnderTheBudgetWhileRowsDecode) {
  limits_.step_tokens = 10;
  limits_.prefill_tokens = 40;
  const auto a = Collect({1}, 6);
  const auto second = Collect({500}, 6);
  std::shared_ptr<Session> b;
  model_.on_forward = [&] {
    if (model_.forwards.size() == 2) {
      b = Collect(std::vector<TokenId>(25, 3), 2);
    }
  };
  EXPECT_EQ(OutcomeOf(a).output, Count(2, 6));
  OutcomeOf(b);
  OutcomeOf(second);
  // 8 prompt tokens beside the tokens of the two.
  EXPECT_EQ(
      model_.forwards,
      (std::vector<Sizes>{{1, 1}, {1, 1}, {1, 1}, {1, 1, 8}, {1, 1, 8}, {1, 1, 8}, {1}, {1}})
  );
}

TEST_F(InferenceEngineTest, TakesFewerTokensWhereAttentionMakesThemDear) {
  limits_.step_tokens = 34;
  model_.set_attention_break_even(100);
  const auto a = Collect({1}, 400);
  const auto second = Collect({500}, 400);
  std::shared_ptr<Session> b;
  model_.on_forward = [&] {
    if (model_.forwards.size() == 2) {
      b = Collect(std::vector<TokenId>(300, 3), 1);
    }
  };
  loop_.RunUntilIdle();
  OutcomeOf(b);
  std::size_t first = 0;
  Sizes chunks;
  for (const Sizes& forward : model_.forwards) {
    if (forward.size() == 3) {
      const std::size_t count = forward.back();
      EXPECT_LE(
          static_cast<double>(count) *
              (1 + (static_cast<double>(first) + static_cast<double>(count) / 2) / 100),
          33
      );
      first += count;
      chunks.push_back(count);
    }
  }
  EXPECT_EQ(first, 300u);
  EXPECT_EQ(chunks.front(), 28u);
  EXPECT_EQ(chunks[chunks.size() - 2], 8u);
  OutcomeOf(a);
  OutcomeOf(second);
}

TEST_F(InferenceEngineTest, AdmitsNoMoreThanTheBatch) {
  limits_.batch = 2;
  const auto a = Collect({1}, 3);
  const auto b = Collect({2}, 1);
  const auto c = Collect({3}, 2);
  OutcomeOf(a);
  EXPECT_EQ(OutcomeOf(c).output, Count(4, 2));
  OutcomeOf(b);
  for (const Sizes& forward : model_.forwards) {
    EXPECT_LE(forward.size(), 2u);
  }
}

TEST_F(InferenceEngineTest, RefusesMoreThanTheQueueHolds) {
  limits_.batch = 2;
  limits_.queue = 3;
  std::vector<std::shared_ptr<Session>> open;
  for (int i = 0; i < 5; ++i) {
    open.push_back(Collect({1}, 2));
  }
  ExpectRefused(ErrorCode::kOverloaded, "5 requests are open", [&] { Collect({1}, 2); });
  OutcomeOf(open[4]);
  EXPECT_EQ(OutcomeOf(Collect({1}, 2)).output, Count(2, 2));
}

TEST_F(InferenceEngineTest, RefusesWhatCanNeverRun) {
  limits_.pages = 2;
  ExpectRefused(ErrorCode::kInvalidArgument, "no tokens", [&] { Collect({}, 2); });
  ExpectRefused(ErrorCode::kInvalidArgument, "token 1000 is outside", [&] { Collect({1000}, 2); });
  ExpectRefused(
      ErrorCode::kResourceExhausted,
      "128 tokens leave no room for an answer in a context of 128 (memory for 2 pages of 64",
      [&] { Collect(std::vector<TokenId>(128, 1), 2); }
  );
  ExpectRefused(ErrorCode::kInvalidArgument, "temperature", [&] {
    GenerationRequest request;
    request.prompt = {1};
    request.sampling.temperature = -1;
    Stream(request);
  });
  ExpectRefused(ErrorCode::kInvalidArgument, "logprobs", [&] {
    GenerationRequest request;
    request.prompt = {1};
    request.sampling.top_logprobs = 1;
    RunControl control;
    control.output = OutputMode::kCollect;
    engine().Open(request, control);
  });
  // To the last token of the window.
  EXPECT_EQ(OutcomeOf(Collect(std::vector<TokenId>(127, 1), 9)).output, (std::vector<TokenId>{2}));
  EXPECT_EQ(OutcomeOf(Collect(std::vector<TokenId>(128, 1), 0)).output, std::vector<TokenId>{});
}

TEST_F(InferenceEngineTest, ANaNFailsItsRowAlone) {
  const auto a = Collect(Count(1, 5), 4);
  const auto b = Collect({90, 999}, 4);
  const auto c = Collect(Count(997, 1), 4);  // decodes 998, then 999
  const GenerationOutcome failed = OutcomeOf(b);
  EXPECT_NE(std::get<GenerationOutcome::Failed>(failed.end).message.find("NaN"), std::string::npos);
  EXPECT_EQ(OutcomeOf(a).output, Count(6, 4));
  const GenerationOutcome late = OutcomeOf(c);
  EXPECT_TRUE(std::holds_alternative<GenerationOutcome::Failed>(late.end));
  EXPECT_EQ(late.output, Count(998, 2));
  EXPECT_EQ(engine().gauges().pages_used, engine().gauges().pages_cached);
}

TEST_F(InferenceEngineTest, AFailingForwardFailsItsRowsAndTheEngineGoesOn) {
  const auto a = Collect(Count(1, 5), 4);
  const auto b = Collect(Count(1, 5), 4);
  model_.on_forward = [&] {
    if (model_.forwards.size() == 2) {
      throw std::runtime_error("no memory for this step");
    }
  };
  EXPECT_EQ(
      std::get<GenerationOutcome::Failed>(OutcomeOf(a).end).message, "no memory for this step"
  );
  EXPECT_TRUE(std::holds_alternative<GenerationOutcome::Failed>(OutcomeOf(b).end));
  model_.on_forward = [&, thrown = false]() mutable {
    if (!std::exchange(thrown, true)) {
      throw std::runtime_error("no memory for this prompt");
    }
  };
  EXPECT_EQ(
      std::get<GenerationOutcome::Failed>(OutcomeOf(Collect({1}, 1)).end).message,
      "no memory for this prompt"
  );
  EXPECT_EQ(OutcomeOf(Collect({1}, 2)).output, Count(2, 2));
}

TEST_F(InferenceEngineTest, ACallbackThatThrowsFailsItsRowAlone) {
  RunControl control;
  control.output = OutputMode::kCallback;
  control.on_tokens = [](std::span<const TokenId>, LogprobsView) -> awaitable<bool> {
    throw std::runtime_error("the reader broke");
  };
  GenerationRequest request;
  request.prompt = {1};
  const auto broken = engine().Open(request, control);
  const auto other = Collect({5}, 5);
  EXPECT_EQ(std::get<GenerationOutcome::Failed>(OutcomeOf(broken).end).message, "the reader broke");
  EXPECT_EQ(OutcomeOf(other).output, Count(6, 5));
}

TEST_F(InferenceEngineTest, ACancelledRowLeavesWithinOneStep) {
  GenerationRequest request;
  request.prompt = {1};
  request.max_tokens = 400;
  const auto session = Stream(request);
  EventReader reader = session->TakeReader();
  std::size_t cancelled_at = 0;
  model_.on_forward = [&] {
    if (model_.forwards.size() == 5) {
      session->Cancel();
      cancelled_at = model_.forwards.size();
    }
  };
  while (Read(reader)) {
  }
  const auto cancelled = std::get<GenerationOutcome::Cancelled>(OutcomeOf(session).end);
  EXPECT_EQ(cancelled.reason, CancelReason::kRequested);
  EXPECT_EQ(cancelled.metrics.prompt_tokens, 1u);
  EXPECT_EQ(cancelled.metrics.generated_tokens, cancelled_at + 1);
  // The step in which it was cancelled is the last.
  EXPECT_EQ(model_.forwards.size(), cancelled_at + 1);
  EXPECT_EQ(engine().gauges().active, 0u);
}

TEST_F(InferenceEngineTest, ACancelledRequestNeverStarts) {
  limits_.batch = 1;
  const auto a = Collect({1}, 3);
  const auto b = Collect({50}, 3);
  model_.on_forward = [&] { b->Cancel(); };
  OutcomeOf(a);
  EXPECT_TRUE(std::holds_alternative<GenerationOutcome::Cancelled>(OutcomeOf(b).end));
  EXPECT_EQ(model_.forwards.size(), 3u);
}

TEST_F(InferenceEngineTest, AReaderThatNeverReadsStopsNobodyAndEndsIdle) {
  GenerationRequest request;
  request.prompt = {1};
  request.max_tokens = 400;
  const auto idle = Stream(request);
  EventReader idle_reader = idle->TakeReader();
  Read(idle_reader);
  loop_.RunUntilIdle();
  EXPECT_EQ(engine().gauges().parked, 1u);
  EXPECT_EQ(engine().gauges().leases, 0u);  // the group suspends
  std::vector<std::shared_ptr<Session>> others;
  for (TokenId i = 0; i < 31; ++i) {
    others.push_back(Collect({10 * i}, 100));
  }
  for (TokenId i = 0; i < 31; ++i) {
    EXPECT_EQ(OutcomeOf(others[i]).output, Count(10 * i + 1, 100));
  }
  EXPECT_EQ(engine().gauges().parked, 1u);
  timer_.FireAll();
  EXPECT_EQ(
      std::get<GenerationOutcome::Cancelled>(OutcomeOf(idle).end).reason,
      CancelReason::kConsumerIdle
  );
  EXPECT_EQ(engine().gauges().parked, 0u);
}

TEST_F(InferenceEngineTest, AParkedRowGoesOnWhenItsReaderReads) {
  GenerationRequest request;
  request.prompt = {1};
  request.max_tokens = 400;
  const auto session = Stream(request);
  EventReader reader = session->TakeReader();
  std::vector<TokenId> got;
  while (const auto event = Read(reader)) {
    if (const auto* tokens = std::get_if<CommittedTokens>(&*event)) {
      got.insert(got.end(), tokens->token_ids.begin(), tokens->token_ids.end());
    }
  }
  EXPECT_EQ(got, Count(2, 400));
}

TEST_F(InferenceEngineTest, ReusesAPrefixAndComputesItOnceForRequestsThatComeTogether) {
  const std::vector<TokenId> prompt(200, 4);
  const auto a = Collect(prompt, 1);
  const auto b = Collect(prompt, 1);
  OutcomeOf(a);
  const auto metrics = std::get<GenerationOutcome::Completed>(OutcomeOf(b).end).result.metrics;
  EXPECT_EQ(metrics.cached_prompt_tokens, 199u);
  EXPECT_EQ(engine().gauges().prompt_tokens, 201u);
  EXPECT_EQ(engine().gauges().cache_hits, 1u);
}

TEST_F(InferenceEngineTest, GivesPagesToTheOldestAndComesBack) {
  limits_.pages = 4;
  const auto a = Collect(std::vector<TokenId>(60, 1), 100);
  const auto b = Collect(std::vector<TokenId>(60, 30), 100);
  EXPECT_EQ(OutcomeOf(a).output->size(), 100u);
  EXPECT_EQ(OutcomeOf(b).output->size(), 100u);
  EXPECT_GE(engine().gauges().preemptions, 1u);
  EXPECT_EQ(OutcomeOf(b).output, Count(31, 100));
}

TEST_F(InferenceEngineTest, AReaderThatNeverReadsGivesItsPagesUp) {
  limits_.pages = 4;
  limits_.session.max_queued_tokens = 32;
  GenerationRequest request;
  request.prompt = std::vector<TokenId>(150, 1);  // the pages end 106 tokens later
  const auto idle = Stream(request);
  EventReader reader = idle->TakeReader();
  std::size_t got = std::get<CommittedTokens>(Read(reader).value()).token_ids.size();
  EXPECT_EQ(engine().gauges().parked, 1u);
  EXPECT_EQ(OutcomeOf(Collect(std::vector<TokenId>(100, 7), 100)).output->size(), 100u);
  EXPECT_EQ(engine().gauges().parked, 1u);
  EXPECT_GE(engine().gauges().preemptions, 1u);
  while (const auto event = Read(reader)) {
    if (const auto* tokens = std::get_if<CommittedTokens>(&*event)) {
      got += tokens->token_ids.size();
    }
  }
  EXPECT_EQ(got, 106u);
}

TEST_F(InferenceEngineTest, ShowsTheLogitsOfEveryPromptPosition) {
  limits_.prefill_tokens = 40;
  std::vector<TokenId> likeliest;
  GenerationRequest request;
  request.prompt = Count(3, 70);
  request.max_tokens = 0;
  request.prompt_logits = [&](std::size_t position, std::span<const float> logits) {
    EXPECT_EQ(position, likeliest.size());
    likeliest.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
  };
  RunControl control;
  control.output = OutputMode::kCollect;
  EXPECT_EQ(
      std::get<GenerationOutcome::Completed>(OutcomeOf(engine().Open(request, control)).end)
          .result.finish_reason,
      FinishReason::kLength
  );
  EXPECT_EQ(likeliest, Count(4, 70));
  request.prompt_logits = [](std::size_t, std::span<const float>) {
    throw std::runtime_error("the sink broke");
  };
  EXPECT_EQ(
      std::get<GenerationOutcome::Failed>(OutcomeOf(engine().Open(request, control)).end).message,
      "the sink broke"
  );
}

TEST_F(InferenceEngineTest, ScoresTheTokensOfThePrompt) {
  limits_.prefill_tokens = 3;
  std::vector<std::size_t> positions;
  std::vector<TokenLogprobs> scores;
  GenerationRequest request;
  request.prompt = {3, 4, 9, 10, 11};
  request.max_tokens = 2;
  request.prompt_scores_top = 1;
  request.prompt_scores = [&](std::size_t position, const TokenLogprobs& score) {
    positions.push_back(position);
    scores.push_back(score);
  };
  RunControl control;
  control.output = OutputMode::kCollect;
  for (int round = 0; round < 2; ++round) {  // the second could be cached
    positions.clear();
    scores.clear();
    EXPECT_EQ(OutcomeOf(engine().Open(request, control)).output, Count(12, 2));
    EXPECT_EQ(positions, (std::vector<std::size_t>{1, 2, 3, 4}));
    // One logit of 1 among 999 of 0.
    const double log_sum = std::log(std::exp(1.0) + 999);
    EXPECT_NEAR(*scores[0].logprob, 1 - log_sum, 1e-6);
    EXPECT_NEAR(*scores[1].logprob, 0 - log_sum, 1e-6);
    EXPECT_EQ(scores[1].top->at(0).id, 5u);
    EXPECT_NEAR(*scores[3].logprob, 1 - log_sum, 1e-6);
  }
}

TEST_F(InferenceEngineTest, CloseCancelsEverythingAndRefusesMore) {
  limits_.batch = 1;
  GenerationRequest request;
  request.prompt = {1};
  const auto unread = Stream(request);
  const auto running = Stream(request);
  EventReader reader = running->TakeReader();
  Read(reader);
  const auto queued = Collect({1}, 9);
  const auto closed = loop_.Spawn(engine().Close());
  const auto again = loop_.Spawn(engine().Close());
  loop_.RunUntilIdle();
  EXPECT_FALSE(closed->pending());
  EXPECT_FALSE(again->pending());
  for (const auto& session : {unread, running, queued}) {
    EXPECT_EQ(
        std::get<GenerationOutcome::Cancelled>(OutcomeOf(session).end).reason,
        CancelReason::kEngineClosed
    );
  }
  EXPECT_EQ(timer_.live(), 0u);
  ExpectRefused(ErrorCode::kCancelled, "closed", [&] { Collect({1}, 1); });
}

TEST_F(InferenceEngineTest, RefusesLimitsThatCannotWork) {
  limits_.pages = 0;
  ExpectRefused(ErrorCode::kInvalidArgument, "pages is 0", [&] { engine(); });
}

}  // namespace
}  // namespace hearth
