#include "methods/autoregressive.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "hearth/error.h"

namespace hearth {
namespace {

constexpr std::size_t kVocabulary = 10;

// Counts: after token t comes t + 1. Keeps what it was fed.
class CountingModel final : public LanguageModel {
 public:
  explicit CountingModel(std::size_t context) {
    facts_.vocabulary = kVocabulary;
    facts_.context_length = context;
    facts_.kv = {1, 1, 32, KvStorage::kBF16};
  }

  const ModelFacts& facts() const override { return facts_; }

  void Forward(std::span<const ForwardRow> rows, float* logits) override {
    for (const ForwardRow& row : rows) {
      row.sequence->Reserve(row.tokens.size());
      row.sequence->Advance(row.tokens.size());
      calls.push_back(row.tokens.size());
      fed.insert(fed.end(), row.tokens.begin(), row.tokens.end());
      if (row.logits == LogitSelection::kLast) {
        std::fill_n(logits, kVocabulary, 0.0f);
        logits[(row.tokens.back() + 1) % kVocabulary] = 1.0f;
      }
    }
  }

  std::vector<std::size_t> calls;
  std::vector<TokenId> fed;

 private:
  ModelFacts facts_{};
};

struct Answering {
  explicit Answering(std::size_t context = 100)
      : model(context), pool(model.facts().kv, 4), sequence(pool) {}

  AutoregressiveResult operator()(
      const std::vector<TokenId>& prompt,
      const AutoregressiveOptions& options,
      std::size_t prefill_chunk = 512
  ) {
    Sampler sampler({}, 1, {.size = kVocabulary}, SamplingKernelsFor(AttainableIsas().back()));
    return GenerateAutoregressive(
        model,
        sequence,
        {prompt, options, std::move(sampler), model.facts().context_length},
        prefill_chunk,
        [&](const SampledToken& token) {
          delivered.push_back(token.token);
          return delivered.size() != refuse_at;
        },
        [&] { return cancel_after-- == 0; }
    );
  }

  CountingModel model;
  PagePool pool;
  KvSequence sequence;
  std::vector<TokenId> delivered;
  std::size_t refuse_at = 0;
  int cancel_after = -1;
};

TEST(Autoregressive, DeliversExactlyMaxTokens) {
  for (const std::size_t count : {1u, 2u, 5u}) {
    Answering run;
    const AutoregressiveResult result = run({1, 2}, {.max_tokens = count});
    EXPECT_EQ(result.reason, FinishReason::kLength);
    EXPECT_EQ(run.delivered.size(), count);
    EXPECT_EQ(run.delivered.front(), 3u);
    // The last token is delivered, not fed.
    EXPECT_EQ(run.sequence.length(), 2 + count - 1);
    EXPECT_EQ(result.timings.decode_steps, count - 1);
  }
}

TEST(Autoregressive, ComputesThePromptOnlyWhenNoTokenIsWanted) {
  Answering run(3);
  const AutoregressiveResult result = run({1, 2, 3}, {.max_tokens = 0}, 2);
  EXPECT_EQ(result.reason, FinishReason::kLength);
  EXPECT_TRUE(run.delivered.empty());
  EXPECT_EQ(run.sequence.length(), 3u);
}

TEST(Autoregressive, GoesOnTheSameWayWhenTheSequenceWasLost) {
  CountingModel model(100);
  PagePool pool(model.facts().kv, 4);
  AutoregressiveRow row(
      {1, 2, 3},
      {.max_tokens = 4},
      Sampler({}, 1, {.size = kVocabulary}, SamplingKernelsFor(AttainableIsas().back())),
      100
  );
  std::vector<float> logits(kVocabulary);
  for (const std::size_t unfed : {3u, 4u, 5u, 6u}) {
    KvSequence sequence(pool);  // a new one for each token
    ASSERT_EQ(row.Unfed(sequence), unfed);
    const ForwardRow first = row.Feed(sequence, unfed - 1);
    EXPECT_EQ(first.logits, LogitSelection::kNone);
    model.Forward({&first, 1}, logits.data());
    const ForwardRow last = row.Feed(sequence, 1);
    EXPECT_EQ(last.logits, LogitSelection::kLast);
    model.Forward({&last, 1}, logits.data());
    const SampleRow choice = row.Choose(logits);
    EXPECT_EQ(choice.step, unfed - 3);
    ASSERT_TRUE(row.Take(choice.sampler->Sample(choice.logits, choice.history, choice.step)));
  }
  EXPECT_TRUE(row.AtLimit());
  EXPECT_EQ(
      std::vector<TokenId>(row.tokens().begin(), row.tokens().end()),
      (std::vector<TokenId>{1, 2, 3, 4, 5, 6, 7})
  );
}

TEST(Autoregressive, AStopTokenEndsTheAnswerAndIsNotDelivered) {
  Answering run;
  const AutoregressiveResult result = run({1}, {.stop_tokens = {4}});
  EXPECT_EQ(result.reason, FinishReason::kStop);
  EXPECT_EQ(run.delivered, (std::vector<TokenId>{2, 3}));
}

TEST(Autoregressive, CutsThePromptAndLeavesOutWhatIsCached) {
  Answering run;
  run({1, 2, 3, 4, 5}, {.max_tokens = 1}, 2);
  EXPECT_EQ(run.model.calls, (std::vector<std::size_t>{2, 2, 1}));
  const AutoregressiveResult result = run({1, 2, 3, 4, 5, 6, 7}, {.max_tokens = 1});
  EXPECT_EQ(result.timings.cached_tokens, 5u);
  EXPECT_EQ(run.model.fed, (std::vector<TokenId>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(run.delivered.back(), 8u);
}

TEST(Autoregressive, AFullContextEndsTheAnswer) {
  Answering run(8);
  const AutoregressiveResult result = run({1, 2, 3, 4, 5, 6}, {.max_tokens = 50});
  EXPECT_EQ(result.reason, FinishReason::kLength);
  EXPECT_EQ(run.delivered.size(), 2u);
  Answering last(8);
  last({1, 2, 3, 4, 5, 6, 7}, {.max_tokens = 50});
  EXPECT_EQ(last.delivered.size(), 1u);
}

TEST(Autoregressive, RefusesPromptsThatCannotRun) {
  Answering full(4);
  try {
    full({1, 2, 3, 4}, {});
    FAIL() << "ran";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
    EXPECT_NE(std::string(error.what()).find("context of 4"), std::string::npos);
  }
  Answering empty;
  EXPECT_THROW(empty({}, {}), Error);
  Answering cached;
  cached({1, 2}, {.max_tokens = 1});
  EXPECT_THROW(cached({1, 2}, {}), Error);
}

TEST(Autoregressive, IsCancelledBetweenChunksAndBetweenSteps) {
  Answering early;
  early.cancel_after = 1;
  EXPECT_EQ(early({1, 2, 3, 4}, {}, 1).reason, std::nullopt);
  EXPECT_EQ(early.sequence.length(), 1u);
  EXPECT_TRUE(early.delivered.empty());
  Answering late;
  late.cancel_after = 2;
  EXPECT_EQ(late({1}, {}).reason, std::nullopt);
  EXPECT_EQ(late.delivered.size(), 2u);
}

TEST(Autoregressive, AReceiverThatWantsNoMoreEndsIt) {
  Answering run;
  run.refuse_at = 3;
  EXPECT_EQ(run({1}, {}).reason, FinishReason::kStop);
  EXPECT_EQ(run.delivered.size(), 3u);
}

}  // namespace
}  // namespace hearth
