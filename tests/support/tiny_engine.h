// An inference engine over a tiny model: on a loop that the test drives, or on a real loop with a step thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <vector>

#include "engine/inference_engine.h"
#include "engine/loop_timer.h"
#include "engine/step_runner.h"
#include "kernels/sampling_kernels.h"
#include "methods/autoregressive.h"
#include "models/llama.h"
#include "support/tiny_llama.h"
#include "tensor/cpu_backend.h"

namespace hearth::testing_support {

// A model with all that running it takes.
struct TinyModel {
  explicit TinyModel(int threads, TinyMix mix = TinyMix::kLegacy)
      : weights(mix, 7),
        team(threads),
        backend(MakeCpuBackend(KernelsFor(AttainableIsas().back()), Numerics::kDefault, team)),
        model(MakeLlama(weights.config(), weights, *backend)),
        kernels(SamplingKernelsFor(AttainableIsas().back())),
        vocabulary{.size = model->facts().vocabulary} {}

  TinyLlama weights;
  WorkerTeam team;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<LanguageModel> model;
  SamplingKernels kernels;
  SamplerVocabulary vocabulary;
};

// What a request gets alone: one sequence, one forward at a time, no engine.
struct SoloAnswer {
  std::vector<SampledToken> tokens;
  FinishReason reason = FinishReason::kStop;
};

inline SoloAnswer AnswerAlone(TinyModel& tiny, const GenerationRequest& request) {
  PagePool pool(tiny.model->facts().kv, tiny.model->facts().context_length / kPageTokens + 1);
  KvSequence sequence(pool);
  SoloAnswer answer;
  const AutoregressiveResult result = GenerateAutoregressive(
      *tiny.model,
      sequence,
      {request.prompt,
       {static_cast<std::size_t>(request.max_tokens), request.stop_tokens},
       Sampler(request.sampling, request.seed, tiny.vocabulary, tiny.kernels),
       tiny.model->facts().context_length},
      512,
      [&](const SampledToken& token) {
        answer.tokens.push_back(token);
        return true;
      },
      [] { return false; }
  );
  answer.reason = *result.reason;
  return answer;
}

}  // namespace hearth::testing_support
