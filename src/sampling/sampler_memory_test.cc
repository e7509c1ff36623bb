#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sampling/sampler.h"
#include "sampling/seed.h"
#include "support/counted_allocation.h"

namespace hearth {
namespace {

std::size_t MostHeld(const SamplingParameters& parameters, std::size_t vocabulary, double spread) {
  std::vector<float> logits(vocabulary);
  std::vector<TokenId> history(500);
  for (std::size_t i = 0; i < history.size(); ++i) {
    history[i] = static_cast<TokenId>(i);
  }
  const SamplingKernels kernels = SamplingKernelsFor(AttainableIsas().back());
  const std::size_t before = AllocatedBytes();
  RestartPeak();
  Sampler sampler(parameters, 1, {.size = vocabulary}, kernels);
  for (std::size_t step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < vocabulary; ++i) {
      logits[i] = static_cast<float>(spread * Uniform(Mix(step, i)));
    }
    sampler.Sample(logits, history, step);
  }
  return PeakAllocatedBytes() - before;
}

TEST(SamplerMemory, StaysBelowItsMost) {
  SamplingParameters penalties;
  penalties.repetition_penalty = 1.2;
  penalties.presence_penalty = 0.5;
  penalties.frequency_penalty = 0.5;
  penalties.top_logprobs = 20;
  SamplingParameters filters = penalties;
  filters.temperature = 1;
  filters.top_p = 0.999;
  filters.min_p = 1e-6;
  filters.xtc_probability = 1;
  filters.xtc_threshold = 0.4;
  SamplingParameters nearly_all = filters;
  nearly_all.top_k = 69'000;
  std::size_t most = 0;
  // Just past a power of two, where vectors that double are emptiest; flat rows, of which filters keep most.
  for (const std::size_t vocabulary : {70'000u, 131'072u}) {
    for (const SamplingParameters& parameters : {penalties, filters, nearly_all}) {
      for (const double spread : {0.0, 0.01, 8.0}) {
        const std::size_t held = MostHeld(parameters, vocabulary, spread);
        EXPECT_LE(held, Sampler::MostBytes(vocabulary));
        most = vocabulary == 70'000u ? std::max(most, held) : most;
      }
    }
  }
  // Not twice what it comes to.
  EXPECT_GE(2 * most, Sampler::MostBytes(70'000));
}

}  // namespace
}  // namespace hearth
