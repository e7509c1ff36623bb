// Law 1: a row's logits are the same bits alone and among unlike rows, for every cut of its prompt, every number of
// threads and every instruction set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "models/llama.h"
#include "support/tiny_llama.h"
#include "tensor/cpu_backend.h"

namespace hearth {
namespace {

constexpr std::size_t kTokens = 100;  // of row 0: more than a page, more than the third chunk size

#ifdef HEARTH_SANITIZED
constexpr std::size_t kChunks[] = {
    7, 512
};  // sanitizers are slow; they look for other faults than cuts
#else
constexpr std::size_t kChunks[] = {1, 7, 64, 512};
#endif

struct Setting {
  Isa isa;
  int threads;
  std::size_t chunk;
  std::size_t rows;
  std::size_t tokens = kTokens;  // of row 0
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << IsaName(setting.isa) << ", " << setting.threads << " threads, chunks of "
             << setting.chunk << ", " << setting.rows << " rows";
}

// A prompt of its own length and tokens for each row; row 0's has `first` tokens.
std::vector<TokenId> Prompt(std::size_t row, std::size_t first, std::size_t vocabulary) {
  std::mt19937 random(static_cast<unsigned>(row) + 1);
  const std::size_t length = row == 0 ? first : 1 + random() % 30;
  std::vector<TokenId> tokens(length);
  for (TokenId& token : tokens) {
    token = static_cast<TokenId>(random() % vocabulary);
  }
  return tokens;
}

// The logits of all positions of row 0: its prompt is fed in chunks while `rows` - 1 others, at other positions,
// are fed theirs in the same calls.
std::vector<float> LogitsOfRowZero(
    const TinyLlama& tiny, Numerics numerics, const Setting& setting
) {
  WorkerTeam team(setting.threads);
  const auto backend = MakeCpuBackend(KernelsFor(setting.isa), numerics, team);
  const auto model = MakeLlama(tiny.config(), tiny, *backend);
  const std::size_t vocabulary = model->facts().vocabulary;
  PagePool pool(model->facts().kv, 512);
  std::vector<KvSequence> sequences;
  std::vector<std::vector<TokenId>> prompts;
  for (std::size_t row = 0; row < setting.rows; ++row) {
    sequences.emplace_back(pool);
    prompts.push_back(Prompt(row, setting.tokens, vocabulary));
  }
  std::vector<float> result;
  std::vector<float> logits;
  for (std::size_t call = 0; sequences[0].length() < prompts[0].size(); ++call) {
    std::vector<ForwardRow> rows;
    for (std::size_t row = 0; row < setting.rows; ++row) {
      const std::size_t done = sequences[row].length();
      // The others take other chunks, and start late, so that no two calls look alike.
      const std::size_t wanted = row == 0 ? setting.chunk : 1 + (row * 7 + call) % 13;
      const std::size_t count = std::min(wanted, prompts[row].size() - done);
      if (count > 0 && (row == 0 || call >= row % 3)) {
        rows.push_back({
            &sequences[row],
            std::span(prompts[row]).subspan(done, count),
            row == 0 ? LogitSelection::kAll : static_cast<LogitSelection>(row % 3),
        });
      }
    }
    // Row 0 does not always stand first.
    std::rotate(
        rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(call % rows.size()), rows.end()
    );
    logits.assign(LanguageModel::SelectedLogits(rows) * vocabulary, 0.0f);
    model->Forward(rows, logits.data());
    std::size_t at = 0;
    for (const ForwardRow& row : rows) {
      const std::size_t selected = LanguageModel::SelectedLogits({&row, 1}) * vocabulary;
      if (row.sequence == &sequences[0]) {
        result.insert(
            result.end(),
            logits.begin() + static_cast<std::ptrdiff_t>(at),
            logits.begin() + static_cast<std::ptrdiff_t>(at + selected)
        );
      }
      at += selected;
    }
  }
  return result;
}

class OneAnswerGrid : public ::testing::TestWithParam<std::tuple<TinyMix, Numerics>> {};

TEST_P(OneAnswerGrid, BitsDoNotDependOnCompanyCutsThreadsOrInstructionSet) {
  const auto [mix, numerics] = GetParam();
  const TinyLlama tiny(mix, 7);
  const std::vector<float> expected = LogitsOfRowZero(tiny, numerics, {Isa::kPortable, 1, 512, 1});
  ASSERT_EQ(expected.size(), kTokens * tiny.config().vocabulary);
  const float widest = *std::ranges::max_element(expected);
  ASSERT_GT(widest, 0.5f) << "a model whose logits are all alike would prove nothing";
  for (const Isa isa : AttainableIsas()) {
    for (const int threads : {1, 2}) {
      for (const std::size_t chunk : kChunks) {
        for (const std::size_t rows : {1u, 32u}) {
          const Setting setting{isa, threads, chunk, rows};
          const std::vector<float> got = LogitsOfRowZero(tiny, numerics, setting);
          ASSERT_EQ(got.size(), expected.size()) << setting;
          ASSERT_EQ(0, std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)))
              << setting;
        }
      }
    }
  }
}

// More than one segment of attention, whole and cut, on one thread and split over several.
TEST(OneAnswer, HoldsBeyondTheFirstSegmentOfAttention) {
  constexpr std::size_t kLong = 600;
  const TinyLlama tiny(TinyMix::kLegacy, 7);
  const std::vector<float> expected =
      LogitsOfRowZero(tiny, Numerics::kDefault, {Isa::kPortable, 1, kLong, 1, kLong});
  for (const Isa isa : AttainableIsas()) {
    for (const std::size_t chunk : {std::size_t{50}, kLong}) {
      const Setting setting{isa, 3, chunk, 1, kLong};
      const std::vector<float> got = LogitsOfRowZero(tiny, Numerics::kDefault, setting);
      ASSERT_EQ(got.size(), expected.size()) << setting;
      ASSERT_EQ(0, std::memcmp(got.data(), expected.data(), got.size() * sizeof(float))) << setting;
    }
  }
}

std::string CaseName(const ::testing::TestParamInfo<OneAnswerGrid::ParamType>& info) {
  const char* const mixes[] = {"Legacy", "K", "Float"};
  const bool f32 = std::get<1>(info.param) == Numerics::kF32;
  return std::string(mixes[static_cast<int>(std::get<0>(info.param))]) + (f32 ? "F32" : "Default");
}

INSTANTIATE_TEST_SUITE_P(
    Tiny,
    OneAnswerGrid,
    ::testing::Combine(
        ::testing::Values(TinyMix::kLegacy, TinyMix::kK, TinyMix::kFloat),
        ::testing::Values(Numerics::kDefault, Numerics::kF32)
    ),
    CaseName
);

}  // namespace
}  // namespace hearth
