// A model with everything that running it takes: the one place where file, kernels, backend and family are
// put together.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "engine/memory.h"
#include "formats/gguf.h"
#include "hearth/engine.h"
#include "hearth/engine_options.h"
#include "hearth/model_text.h"
#include "kernels/kernels.h"
#include "library/text_parts.h"
#include "models/gguf_weights.h"
#include "models/language_model.h"
#include "platform/file_map.h"
#include "platform/worker_team.h"
#include "sampling/sampler.h"
#include "tensor/backend.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace hearth {

// Members of the worker team that the options ask for.
int TeamMembers(const EngineOptions& options);

// Ownership: owns the map, the team, the backend and the model, and ends them in that order reversed.
// Errors of the constructor: every error of the file, the flags and the machine, in one line; among them
//            kResourceExhausted, before weights are read, when the memory budget cannot hold the model.
class LoadedModel {
 public:
  explicit LoadedModel(const EngineOptions& options);

  const GgufFile& file() const { return file_; }

  LanguageModel& model() { return *model_; }

  const LanguageModel& model() const { return *model_; }

  WorkerTeam& team() { return team_; }

  // Reading it costs some tens of milliseconds, the first time that one of the next five is asked for.
  // Errors: kUnsupported or kCorruptData when the file's tokenizer cannot be used; a model without one still runs on ids.
  ModelText text() const;
  const Tokenizer& tokenizer() const;

  // Errors: kNotFound when the file has no chat template; those of a template that does not parse, and of tokenizer().
  const ChatTemplate& chat_template() const;

  // Ids that end an answer.
  std::vector<TokenId> stop_tokens() const;

  SamplerVocabulary sampler_vocabulary() const;

  Isa isa() const { return kernels_.isa; }

  // What the memory budget leaves for steps of these sizes, beside `other_bytes` of the caller's; its RequirePages() is the
  // pool's size.
  MemoryPlan PlanFor(const StepSizes& steps, std::size_t other_bytes = 0) const;

  // Seconds that opening and packing took.
  double load_seconds() const { return load_seconds_; }

  // Seconds since loading began.
  double SecondsSinceStart() const;

 private:
  const ModelText::Parts& TextParts() const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  FileMap map_;
  GgufFile file_;
  GgufWeights weights_;
  Kernels kernels_;
  WorkerTeam team_;
  MemoryFacts memory_facts_;
  MemoryBudget memory_budget_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<LanguageModel> model_;
  mutable std::shared_ptr<const ModelText::Parts> text_;  // made when first asked for
  double load_seconds_ = 0;
};

// The model behind an engine, for programs of this project that measure. Nobody may compute with it while requests are open.
LoadedModel& LoadedModelOf(Engine& engine);

}  // namespace hearth
