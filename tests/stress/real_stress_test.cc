// The same on a published model.
#include <gtest/gtest.h>

#include "hearth/error.h"
#include "library/loaded_model.h"
#include "library/model_directory.h"
#include "stress/load.h"

namespace hearth::stress {
namespace {

TEST(SmolLM2UnderLoad, EveryRequestGetsTheBitsThatItGetsAlone) {
  EngineOptions options;
  options.model = "smollm2";
  try {
    FindModel(options.model);
  } catch (const Error&) {
    GTEST_SKIP() << "the default model is not in HEARTH_HOME: `make test` fetches it";
  }
  LoadedModel loaded(options);
  const SamplingKernels kernels = SamplingKernelsFor(loaded.isa());
  const Load load{.requests = 64, .pages = 8, .batch = 16, .step_tokens = 128, .arrival_ms = 2000};
  LoadFacts facts;
  RunLoad({&loaded.model(), &loaded.team(), &kernels, loaded.sampler_vocabulary()}, load, facts);
  EXPECT_GT(facts.completed, load.requests / 2);
  EXPECT_GT(facts.cancelled, 0u);
  EXPECT_GT(facts.cache_hits, 0u);
  EXPECT_GT(facts.preemptions, 0u);
}

}  // namespace
}  // namespace hearth::stress
