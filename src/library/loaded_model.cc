#include "library/loaded_model.h"

#include <algorithm>
#include <cstdlib>

#include "library/model_directory.h"
#include "library/model_memory.h"
#include "models/gguf_model.h"
#include "platform/memory_limits.h"
#include "platform/usable_cores.h"
#include "tensor/cpu_backend.h"

namespace hearth {
namespace {

std::string ForcedIsa(const EngineOptions& options) {
  const char* variable = std::getenv("HEARTH_ISA");
  return !options.isa.empty() || variable == nullptr ? options.isa : variable;
}

}  // namespace

int TeamMembers(const EngineOptions& options) {
  return options.threads == 0 ? std::min(UsableCores(), WorkerTeam::kMostMembers) : options.threads;
}

LoadedModel::LoadedModel(const EngineOptions& options)
    : map_(FindModel(options.model.empty() ? kDefaultModel : options.model)),
      file_(map_.bytes(), map_.name()),
      weights_(map_, file_),
      kernels_(KernelsFor(ChooseIsa(ForcedIsa(options)))),
      team_(TeamMembers(options)) {
  const auto members = static_cast<std::size_t>(team_.members());
  memory_facts_ = MemoryFactsOf(
      GgufModelFacts(file_, weights_, options.numerics, members), map_.bytes().size(), members
  );
  memory_budget_ = BudgetFor(ReadMemoryLimits(), options.memory_budget, memory_facts_);
  PlanFor({.batch = 1, .step_tokens = 1, .prefill_tokens = 1}).RequirePages();
  backend_ = MakeCpuBackend(kernels_, options.numerics, team_);
  model_ = MakeGgufModel(file_, weights_, *backend_);
  load_seconds_ = SecondsSinceStart();
}

MemoryPlan LoadedModel::PlanFor(const StepSizes& steps, std::size_t other_bytes) const {
  MemoryFacts facts = memory_facts_;
  facts.reserve_bytes += other_bytes;
  return PlanMemory(facts, steps, memory_budget_);
}

double LoadedModel::SecondsSinceStart() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

const ModelText::Parts& LoadedModel::TextParts() const {
  if (!text_) {
    text_ = std::make_shared<const ModelText::Parts>(file_);
  }
  return *text_;
}

ModelText LoadedModel::text() const {
  TextParts();
  return ModelText(text_);
}

const Tokenizer& LoadedModel::tokenizer() const {
  return TextParts().tokenizer;
}

const ChatTemplate& LoadedModel::chat_template() const {
  return TextParts().Template();
}

std::vector<TokenId> LoadedModel::stop_tokens() const {
  return TextParts().stop_tokens;
}

SamplerVocabulary LoadedModel::sampler_vocabulary() const {
  SamplerVocabulary vocabulary{.size = tokenizer().vocabulary_size(), .xtc_exempt = stop_tokens()};
  for (const TokenId id : tokenizer().Encode("\n", {})) {
    vocabulary.xtc_exempt.push_back(id);
  }
  return vocabulary;
}

}  // namespace hearth
