// Tiny published-form checkpoints against mlx-lm's logits and greedy tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "models/llama.h"
#include "parity/models/checkpoint.h"
#include "support/fixtures.h"
#include "support/npz.h"
#include "tensor/cpu_backend.h"

namespace hearth {
namespace {

constexpr std::size_t kBuiltInModels = 2;
constexpr double kClearGap = 1e-3;

// Folders of the fixture that this engine's families cover; the others are printed.
std::vector<std::filesystem::path> Models() {
  std::vector<std::filesystem::path> models;
  for (const auto& entry : std::filesystem::directory_iterator(FixtureDir("models"))) {
    if (!entry.is_directory()) {
      continue;
    }
    const nlohmann::json config = LoadJson(entry.path() / "config.json");
    if (config.at("model_type") == "llama" && !config.contains("quantization")) {
      models.push_back(entry.path());
    } else {
      std::printf("not covered: %s\n", entry.path().filename().c_str());
    }
  }
  std::ranges::sort(models);
  return models;
}

std::vector<float> Logits(LanguageModel& model, std::span<const TokenId> tokens) {
  PagePool pool(model.facts().kv, tokens.size() / kPageTokens + 1);
  KvSequence sequence(pool);
  std::vector<float> logits(tokens.size() * model.facts().vocabulary);
  const ForwardRow row{&sequence, tokens, LogitSelection::kAll};
  model.Forward({&row, 1}, logits.data());
  return logits;
}

double Kl(std::span<const float> p, std::span<const float> q) {
  double p_sum = 0, q_sum = 0, kl = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    p_sum += std::exp(static_cast<double>(p[i]));
    q_sum += std::exp(static_cast<double>(q[i]));
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double log_p = static_cast<double>(p[i]) - std::log(p_sum);
    kl += std::exp(log_p) * (log_p - static_cast<double>(q[i]) + std::log(q_sum));
  }
  return kl;
}

TEST(Models, LogitsAndGreedyTokens) {
  const auto models = Models();
  if (UsesBuiltInFixtures()) {
    ASSERT_EQ(models.size(), kBuiltInModels);
  }
  WorkerTeam team(1);
  const Kernels kernels = KernelsFor(AttainableIsas().back());
  for (const auto& folder : models) {
    SCOPED_TRACE(folder.filename().string());
    const Checkpoint checkpoint(folder);
    const auto f32 = MakeCpuBackend(kernels, Numerics::kF32, team);
    const auto fast = MakeCpuBackend(kernels, Numerics::kDefault, team);
    const auto exact_model = MakeLlama(checkpoint.config(), checkpoint, *f32);
    const auto fast_model = MakeLlama(checkpoint.config(), checkpoint, *fast);
    const nlohmann::json goldens = LoadJson(folder / "goldens.json");
    const Npz arrays = ReadNpz(folder / "goldens.npz");
    const std::size_t vocabulary = checkpoint.config().vocabulary;
    double kl = 0;
    std::size_t positions = 0;
    for (std::size_t i = 0; i < goldens.at("prompts").size(); ++i) {
      const nlohmann::json& prompt = goldens["prompts"][i];
      auto tokens = prompt.at("tokens").get<std::vector<TokenId>>();
      const auto expected = arrays.at("logits_f32_" + std::to_string(i)).values<float>();
      const std::vector<float> got = Logits(*exact_model, tokens);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t at = 0; at < got.size(); ++at) {
        ASSERT_NEAR(got[at], expected[at], 2e-4f + 1e-4f * std::fabs(expected[at]))
            << "prompt " << i << ", position " << at / vocabulary;
      }
      const std::vector<float> rounded = Logits(*fast_model, tokens);
      for (std::size_t at = 0; at < got.size(); at += vocabulary, ++positions) {
        kl += Kl(expected.subspan(at, vocabulary), std::span(rounded).subspan(at, vocabulary));
      }
      const auto greedy = prompt.at("greedy_f32").get<std::vector<TokenId>>();
      const auto gaps = prompt.at("greedy_gap_f32").get<std::vector<double>>();
      for (std::size_t step = 0; step < greedy.size() && gaps[step] >= kClearGap; ++step) {
        const std::vector<float> logits = Logits(*exact_model, tokens);
        const auto last = std::span(logits).last(vocabulary);
        ASSERT_EQ(std::ranges::max_element(last) - last.begin(), greedy[step]) << "step " << step;
        tokens.push_back(greedy[step]);
      }
    }
    kl /= static_cast<double>(positions);
    const double native = goldens["prompts"][0].value("kl_f32_vs_native_mean", 0.0);
    std::printf(
        "%-20s KL of default numerics %.2e, of the reference's bfloat16 %.2e\n",
        folder.filename().c_str(),
        kl,
        native
    );
    EXPECT_LE(kl, 1.5 * native);
  }
}

}  // namespace
}  // namespace hearth
