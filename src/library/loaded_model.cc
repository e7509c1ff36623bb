#include "library/loaded_model.h"

#include <algorithm>
#include <cstdlib>
#include <span>

#include "formats/tokenizer_metadata.h"
#include "hearth/error.h"
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

// Reading the metadata costs several milliseconds, so tokenizer and template are taken from one reading.
void LoadedModel::ReadText() const {
  if (tokenizer_) {
    return;
  }
  const TokenizerDescription description = ReadTokenizer(file_);
  template_source_ = description.chat_template;
  const auto add = [&](const char* name, const std::optional<TokenId>& id) {
    if (id) {
      special_tokens_[name] = description.tokens[*id];
    }
  };
  add("bos_token", description.bos);
  add("eos_token", description.eos);
  add("unk_token", description.unknown);
  add("pad_token", description.padding);
  tokenizer_ = std::make_unique<Tokenizer>(description);
}

const Tokenizer& LoadedModel::tokenizer() const {
  ReadText();
  return *tokenizer_;
}

const ChatTemplate& LoadedModel::chat_template() const {
  if (!chat_template_) {
    ReadText();
    if (template_source_.empty()) {
      throw Error(
          ErrorCode::kNotFound,
          file_.name() + ": the model has no chat template; --raw continues a prompt without one"
      );
    }
    chat_template_ = std::make_unique<ChatTemplate>(template_source_, special_tokens_);
  }
  return *chat_template_;
}

std::vector<TokenId> LoadedModel::stop_tokens() const {
  const std::span<const TokenId> ids = tokenizer().end_of_generation();
  return {ids.begin(), ids.end()};
}

SamplerVocabulary LoadedModel::sampler_vocabulary() const {
  SamplerVocabulary vocabulary{.size = tokenizer().vocabulary_size(), .xtc_exempt = stop_tokens()};
  for (const TokenId id : tokenizer().Encode("\n", {})) {
    vocabulary.xtc_exempt.push_back(id);
  }
  return vocabulary;
}

}  // namespace hearth
