// A published model against the float32 reference: teacher-forced logits, greedy text, and the distance of the
// default numerics beside llama.cpp's. Run the binary to see the table.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "hearth/error.h"
#include "library/loaded_model.h"
#include "library/model_directory.h"
#include "parity/real/real_reference.h"
#include "support/fixtures.h"

namespace hearth {
namespace {

constexpr const char* kFolder = "SmolLM2-135M-Instruct.Q4_1";
constexpr std::size_t kBuiltInPrompts = 6;

std::unique_ptr<LoadedModel> Load(Numerics numerics, const std::string& isa = "", int threads = 0) {
  EngineOptions options;
  options.model = kFolder;
  options.numerics = numerics;
  options.isa = isa;
  options.threads = threads;
  return std::make_unique<LoadedModel>(options);
}

bool ModelIsThere() {
  try {
    FindModel(kFolder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

#define HEARTH_NEEDS_MODEL()                                                           \
  if (!ModelIsThere()) {                                                               \
    GTEST_SKIP() << "the default model is not in HEARTH_HOME: `make test` fetches it"; \
  }

std::vector<float> AllLogits(
    LanguageModel& model, std::span<const TokenId> tokens, std::size_t chunk = 512
) {
  PagePool pool(model.facts().kv, tokens.size() / kPageTokens + 1);
  KvSequence sequence(pool);
  std::vector<float> logits(tokens.size() * model.facts().vocabulary);
  while (sequence.length() < tokens.size()) {
    const std::size_t done = sequence.length();
    const ForwardRow row{
        &sequence, tokens.subspan(done, std::min(chunk, tokens.size() - done)), LogitSelection::kAll
    };
    model.Forward({&row, 1}, logits.data() + done * model.facts().vocabulary);
  }
  return logits;
}

// How many greedy tokens equal the reference's, and whether the first that does not stood at a clear gap.
struct Greedy {
  std::size_t equal;
  bool wrong;
};

Greedy RunGreedy(LanguageModel& model, const RealPrompt& prompt) {
  const std::size_t vocabulary = model.facts().vocabulary;
  PagePool pool(model.facts().kv, (prompt.ids.size() + prompt.greedy.size()) / kPageTokens + 1);
  KvSequence sequence(pool);
  std::vector<float> logits(vocabulary);
  std::vector<TokenId> tokens = prompt.ids;
  for (std::size_t step = 0; step < prompt.greedy.size(); ++step) {
    const ForwardRow row{
        &sequence, std::span(tokens).subspan(sequence.length()), LogitSelection::kLast
    };
    model.Forward({&row, 1}, logits.data());
    const auto token = static_cast<TokenId>(ArgMax(logits));
    if (token != prompt.greedy[step]) {
      return {step, prompt.greedy_gap[step] > kClearGap};
    }
    tokens.push_back(token);
  }
  return {prompt.greedy.size(), false};
}

TEST(SmolLM2, Float32NumericsAreTheReference) {
  HEARTH_NEEDS_MODEL();
  const auto loaded = Load(Numerics::kF32);
  const std::vector<RealPrompt> prompts = LoadRealPrompts(kFolder);
  if (UsesBuiltInFixtures()) {
    ASSERT_EQ(prompts.size(), kBuiltInPrompts);
  }
  ASSERT_FALSE(prompts.empty());
  std::printf("%-10s %7s %10s %14s %8s\n", "prompt", "tokens", "top-1", "largest diff", "greedy");
  for (const RealPrompt& prompt : prompts) {
    const std::vector<float> logits = AllLogits(loaded->model(), prompt.ids);
    const RealDistance distance =
        MeasureDistance(prompt, logits, loaded->model().facts().vocabulary);
    const Greedy greedy = RunGreedy(loaded->model(), prompt);
    std::printf(
        "%-10s %7zu %5zu/%-5zu %13.2e %5zu/%zu\n",
        prompt.name.c_str(),
        prompt.ids.size(),
        distance.top1_equal,
        prompt.ids.size(),
        distance.largest_difference,
        greedy.equal,
        prompt.greedy.size()
    );
    EXPECT_EQ(distance.top1_wrong, 0u) << prompt.name;
    EXPECT_FALSE(greedy.wrong) << prompt.name << " leaves the greedy text at step " << greedy.equal;
    // The fixture's own tolerance for a float32 engine.
    EXPECT_LE(distance.largest_difference, 2e-3) << prompt.name;
    EXPECT_LE(distance.kl, 1e-8) << prompt.name;
  }
}

TEST(SmolLM2, DefaultNumericsAreNearerThanThePeer) {
  HEARTH_NEEDS_MODEL();
  const std::vector<RealPrompt> prompts = LoadRealPrompts(kFolder);
  std::vector<std::vector<float>> exact;
  std::size_t vocabulary = 0;
  {
    const auto loaded = Load(Numerics::kF32);
    vocabulary = loaded->model().facts().vocabulary;
    for (const RealPrompt& prompt : prompts) {
      exact.push_back(AllLogits(loaded->model(), prompt.ids));
    }
  }
  const auto loaded = Load(Numerics::kDefault);
  std::printf(
      "%-10s %7s %10s %16s %16s %12s %8s\n",
      "prompt",
      "tokens",
      "top-1",
      "KL(ref||hearth)",
      "KL(f32||default)",
      "llama.cpp",
      "ratio"
  );
  double mean = 0, peer_mean = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const RealPrompt& prompt = prompts[i];
    const std::vector<float> logits = AllLogits(loaded->model(), prompt.ids);
    const RealDistance distance = MeasureDistance(prompt, logits, vocabulary);
    const double whole = MeanKl(exact[i], logits, vocabulary);
    std::printf(
        "%-10s %7zu %5zu/%-5zu %16.2e %16.2e %12.2e %8.4f\n",
        prompt.name.c_str(),
        prompt.ids.size(),
        distance.top1_equal,
        prompt.ids.size(),
        distance.kl,
        whole,
        prompt.peer_kl,
        whole / prompt.peer_kl
    );
    EXPECT_LT(distance.kl, prompt.peer_kl) << prompt.name;
    EXPECT_LT(whole, prompt.peer_kl) << prompt.name;
    mean += whole / static_cast<double>(prompts.size());
    peer_mean += prompt.peer_kl / static_cast<double>(prompts.size());
  }
  std::printf("%-10s %52.2e %12.2e %8.4f\n", "mean", mean, peer_mean, mean / peer_mean);
  EXPECT_LT(mean, peer_mean / 10);
}

TEST(SmolLM2, OneAnswerForEveryCutCompanyThreadsAndInstructionSet) {
  HEARTH_NEEDS_MODEL();
  const std::vector<RealPrompt> prompts = LoadRealPrompts(kFolder);
  ASSERT_GE(prompts.size(), 2u);
  constexpr std::size_t kTokens = 70;
  const std::span<const TokenId> first =
      std::span(prompts[0].ids).first(std::min(kTokens, prompts[0].ids.size()));
  std::vector<float> expected;
  {
    const auto loaded = Load(Numerics::kDefault, "portable", 1);
    expected = AllLogits(loaded->model(), first);
  }
  for (const Isa isa : AttainableIsas()) {
    for (const int threads : {1, 2}) {
      if (isa == Isa::kPortable && threads == 2) {
        continue;  // slow; the tiny models have the whole grid
      }
      const auto loaded = Load(Numerics::kDefault, std::string(IsaName(isa)), threads);
      LanguageModel& model = loaded->model();
      const std::vector<float> cut = AllLogits(model, first, isa == Isa::kPortable ? 64 : 7);
      EXPECT_EQ(0, std::memcmp(cut.data(), expected.data(), expected.size() * sizeof(float)))
          << IsaName(isa) << ", " << threads << " threads";
      if (isa == Isa::kPortable) {
        continue;
      }
      // Among 31 rows of other prompts.
      PagePool pool(model.facts().kv, 256);
      std::vector<KvSequence> sequences;
      std::vector<ForwardRow> rows;
      for (std::size_t row = 0; row < 32; ++row) {
        sequences.emplace_back(pool);
      }
      for (std::size_t row = 0; row < 32; ++row) {
        const std::span<const TokenId> other(prompts[row % prompts.size()].ids);
        rows.push_back(
            {&sequences[row],
             row == 5 ? first : other.first(1 + row % 9),
             row == 5 ? LogitSelection::kAll : LogitSelection::kNone}
        );
      }
      std::vector<float> among(expected.size());
      model.Forward(rows, among.data());
      EXPECT_EQ(0, std::memcmp(among.data(), expected.data(), expected.size() * sizeof(float)))
          << IsaName(isa) << ", " << threads << " threads, among 32 rows";
    }
  }
}

}  // namespace
}  // namespace hearth
