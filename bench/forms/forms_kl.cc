#include "forms/forms_kl.h"

#include <algorithm>
#include <memory>

#include "formats/gguf.h"
#include "forms/simulated_backend.h"
#include "hearth/error.h"
#include "library/model_directory.h"
#include "models/gguf_model.h"
#include "models/gguf_weights.h"
#include "parity/real/real_reference.h"
#include "platform/file_map.h"
#include "tensor/cpu_backend.h"

namespace hearth::forms {
namespace {

constexpr const char* kPrompts = "SmolLM2-135M-Instruct.Q4_1";
constexpr std::size_t kChunk = 512;

std::vector<float> AllLogits(LanguageModel& model, std::span<const TokenId> tokens) {
  const ModelFacts& facts = model.facts();
  PagePool pool(facts.kv, tokens.size() / kPageTokens + 1);
  KvSequence sequence(pool);
  std::vector<float> logits(tokens.size() * facts.vocabulary);
  while (sequence.length() < tokens.size()) {
    const std::size_t done = sequence.length();
    const ForwardRow row{
        &sequence,
        tokens.subspan(done, std::min(kChunk, tokens.size() - done)),
        LogitSelection::kAll
    };
    model.Forward({&row, 1}, logits.data() + done * facts.vocabulary);
  }
  return logits;
}

void RequirePrompts(const std::vector<RealPrompt>& prompts, std::size_t vocabulary) {
  for (const RealPrompt& prompt : prompts) {
    for (const TokenId id : prompt.ids) {
      if (static_cast<std::size_t>(id) >= vocabulary) {
        throw Error(
            ErrorCode::kInvalidArgument,
            "the model's vocabulary is not the prompts': wanted a model of the SmolLM2 family"
        );
      }
    }
  }
}

}  // namespace

Distances MeasureForms(WorkerTeam& team, const std::string& model_name) {
  const std::vector<RealPrompt> prompts = LoadRealPrompts(kPrompts);
  const FileMap map(FindModel(model_name));
  const GgufFile file(map.bytes(), map.name());
  const GgufWeights weights(map, file);
  const Kernels kernels = KernelsFor(AttainableIsas().back());

  Distances distances{prompts.size(), 0, 0, {}};
  const double share = 1.0 / static_cast<double>(prompts.size());
  for (const RealPrompt& prompt : prompts) {
    distances.positions += prompt.ids.size();
    distances.peer_kl += prompt.peer_kl * share;
  }
  std::vector<std::vector<float>> reference;
  const auto run = [&](Backend& backend, const auto& each) {
    const auto model = MakeGgufModel(file, weights, backend);
    RequirePrompts(prompts, model->facts().vocabulary);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      each(i, AllLogits(*model, prompts[i].ids), model->facts().vocabulary);
    }
  };
  run(*MakeCpuBackend(kernels, Numerics::kF32, team),
      [&](std::size_t, std::vector<float> logits, std::size_t) {
        reference.push_back(std::move(logits));
      });
  const auto measure = [&](const char* form, const std::unique_ptr<Backend>& backend) {
    double kl = 0;
    run(*backend, [&](std::size_t i, const std::vector<float>& logits, std::size_t vocabulary) {
      kl += MeanKl(reference[i], logits, vocabulary) * share;
    });
    distances.forms.push_back({form, kl});
  };
  const auto simulated = [&](ActivationRounding activations, bool bf16_weights) {
    return MakeSimulatedBackend(kernels, {activations, bf16_weights}, team);
  };
  measure("I, 12-bit activations", MakeCpuBackend(kernels, Numerics::kDefault, team));
  measure("G, simulated", simulated(ActivationRounding::kBf16, false));
  measure("R, simulated", simulated(ActivationRounding::kBf16, true));
  measure(
      "I, 8-bit activations a block of 32, simulated",
      simulated(ActivationRounding::kByteBlocks, false)
  );
  measure("nothing rounded but attention, simulated", simulated(ActivationRounding::kNone, false));
  return distances;
}

}  // namespace hearth::forms
