// Law 1 under load: whatever runs beside it, whenever it comes, whoever is cancelled, and however short pages are, a
// request gets token by token what it gets alone.
#include <gtest/gtest.h>

#include "models/llama.h"
#include "stress/load.h"
#include "support/tiny_llama.h"
#include "tensor/cpu_backend.h"

namespace hearth::stress {
namespace {

LoadFacts RunOnTinyModel(TinyMix mix, int threads, const Load& load) {
  const TinyLlama weights(mix, 7);
  WorkerTeam team(threads);
  const Isa isa = AttainableIsas().back();
  const auto backend = MakeCpuBackend(KernelsFor(isa), Numerics::kDefault, team);
  const auto model = MakeLlama(weights.config(), weights, *backend);
  const SamplingKernels kernels = SamplingKernelsFor(isa);
  LoadFacts facts;
  RunLoad({model.get(), &team, &kernels, {.size = model->facts().vocabulary}}, load, facts);
  return facts;
}

void ExpectAllKindsOfEnds(const LoadFacts& facts, const Load& load) {
  EXPECT_GT(facts.completed, load.requests / 2);
  EXPECT_GT(facts.cancelled, load.requests / 20);
  EXPECT_GT(facts.cache_hits, 0u);
}

TEST(UnderLoad, EveryRequestGetsTheBitsThatItGetsAlone) {
  const Load load{.requests = 1000, .pages = 400, .batch = 32, .step_tokens = 256};
  ExpectAllKindsOfEnds(RunOnTinyModel(TinyMix::kLegacy, 2, load), load);
}

// The longest request needs 5 pages: nearly nothing else fits beside it.
TEST(UnderLoad, AlsoWhenPagesAreSoShortThatRowsMustGiveTheirsUp) {
  const Load load{.requests = 1000, .pages = 7, .batch = 8, .step_tokens = 24};
  const LoadFacts facts = RunOnTinyModel(TinyMix::kK, 1, load);
  ExpectAllKindsOfEnds(facts, load);
  EXPECT_GT(facts.preemptions, 0u) << "no row was short of pages, so that was not tried";
}

}  // namespace
}  // namespace hearth::stress
