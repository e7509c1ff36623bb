#include "cli/bench_rows.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <span>

#include "kv/sequence.h"
#include "sampling/sample_rows.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

RowsSpeed MeasureRows(
    LoadedModel& loaded,
    PagePool& pool,
    const std::vector<std::vector<TokenId>>& prompts,
    std::size_t gen
) {
  const std::size_t rows = prompts.size();
  const std::size_t prompt = prompts.front().size();
  LanguageModel& model = loaded.model();
  const SamplingKernels kernels = SamplingKernelsFor(loaded.isa());
  const std::size_t vocabulary = model.facts().vocabulary;
  std::vector<std::vector<TokenId>> histories = prompts;
  std::vector<KvSequence> sequences;
  std::vector<Sampler> samplers;
  for (std::size_t row = 0; row < rows; ++row) {
    sequences.emplace_back(pool);
    samplers.emplace_back(SamplingParameters{}, row, SamplerVocabulary{vocabulary}, kernels);
  }
  std::vector<float> logits(rows * vocabulary);
  // Samples rows first .. end - 1.
  const auto sample = [&](std::size_t first, std::size_t end, std::size_t step) {
    std::vector<SampleRow> batch;
    for (std::size_t row = first; row < end; ++row) {
      const std::span<float> scores = std::span(logits).subspan(row * vocabulary, vocabulary);
      batch.push_back({&samplers[row], scores, histories[row], step});
    }
    const std::vector<RowOutcome> outcomes = SampleRows(batch, loaded.team());
    for (std::size_t row = first; row < end; ++row) {
      const RowOutcome& outcome = outcomes[row - first];
      if (outcome.error) {
        std::rethrow_exception(outcome.error);
      }
      histories[row].push_back(outcome.sampled.token);
    }
  };
  const auto feed = [&](std::size_t row, std::size_t count) {
    const std::span<const TokenId> fed =
        std::span(histories[row]).subspan(sequences[row].length(), count);
    return ForwardRow{&sequences[row], fed, LogitSelection::kLast};
  };

  const Clock::time_point start = Clock::now();
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t left = prompt; left > 0;) {
      const std::size_t count = std::min(left, kRowsPrefillTokens);
      const ForwardRow chunk = feed(row, count);
      model.Forward({&chunk, 1}, logits.data() + row * vocabulary);
      left -= count;
    }
    sample(row, row + 1, 0);
  }
  const double prefill = Seconds(start);

  const Clock::time_point decode_start = Clock::now();
  for (std::size_t step = 1; step < gen; ++step) {
    std::vector<ForwardRow> batch;
    batch.reserve(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      batch.push_back(feed(row, 1));
    }
    model.Forward(batch, logits.data());
    sample(0, rows, step);
  }
  const double decode = Seconds(decode_start);
  const auto count = static_cast<double>(rows);
  return {
      count * static_cast<double>(prompt) / prefill,
      gen > 1 ? count * static_cast<double>(gen - 1) / decode : 0,
      count * static_cast<double>(gen) / (prefill + decode),
  };
}

}  // namespace hearth
