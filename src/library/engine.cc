#include "hearth/engine.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "contracts/aggregate_error.h"
#include "engine/engine_thread.h"
#include "library/loaded_model.h"
#include "platform/log.h"
#include "platform/random_seed.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

EngineLimits LimitsOf(const EngineOptions& options, const LoadedModel& loaded) {
  EngineLimits limits;
  limits.batch = options.batch;
  limits.queue = options.queue;
  limits.step_tokens = options.step_tokens;
  limits.prefill_tokens = options.prefill_tokens;
  const MemoryPlan plan = loaded.PlanFor(
      {.batch = options.batch,
       .step_tokens = options.step_tokens,
       .prefill_tokens = options.prefill_tokens}
  );
  // Sizes of 0 are the engine's to refuse.
  const bool sized = options.batch > 0 && options.step_tokens > 0 && options.prefill_tokens > 0;
  limits.pages = sized ? plan.RequirePages() : 1;
  limits.prompt_cache = options.prompt_cache;
  limits.session.idle_timeout = options.idle_timeout;
  return limits;
}

ModelInfo InfoOf(LoadedModel& loaded) {
  const ModelFacts& facts = loaded.model().facts();
  return {
      .name = loaded.file().name(),
      .family = facts.family,
      .vocabulary = facts.vocabulary,
      .context_length = facts.context_length,
      .cache_pages = 0,
      .parameters = facts.parameters,
      .weight_bytes = facts.weight_bytes,
      .numerics = facts.numerics,
      .isa = std::string(IsaName(loaded.isa())),
      .threads = loaded.team().members(),
      .load_seconds = loaded.load_seconds(),
  };
}

}  // namespace

struct Engine::Impl {
  explicit Impl(const EngineOptions& options) : loaded(options) {
    try {
      text.emplace(loaded.text());
    } catch (const Error&) {
      no_text = std::current_exception();
    }
    info = InfoOf(loaded);
    kernels = SamplingKernelsFor(loaded.isa());
    thread.emplace(
        ComputeParts{
            .model = &loaded.model(),
            .team = &loaded.team(),
            .kernels = &kernels,
            .vocabulary = text ? loaded.sampler_vocabulary() : SamplerVocabulary{info.vocabulary},
            .report = [](
                          std::exception_ptr error
                      ) { Log(LogLevel::kError, "engine: " + DescribeError(error)); },
        },
        LimitsOf(options, loaded)
    );
    info.cache_pages = thread->limits().pages;
    info.context_length = std::min(info.context_length, info.cache_pages * kPageTokens);
  }

  LoadedModel loaded;
  std::optional<ModelText> text;
  std::exception_ptr no_text;
  ModelInfo info{};
  SamplingKernels kernels{};
  std::optional<EngineThread> thread;
};

Engine::Engine(const EngineOptions& options) : impl_(std::make_unique<Impl>(options)) {
}

Engine::~Engine() = default;

const ModelInfo& Engine::model() const {
  return impl_->info;
}

const ModelText& Engine::text() const {
  if (impl_->no_text) {
    std::rethrow_exception(impl_->no_text);
  }
  return *impl_->text;
}

GenerationRequest Engine::MakeRequest(
    std::vector<TokenId> prompt, SamplingParameters sampling, std::uint32_t choice
) const {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  if (impl_->text) {
    request.stop_tokens = impl_->text->stop_tokens();
  }
  request.seed = ChoiceSeed(sampling.seed ? *sampling.seed : FreshSeed(), choice);
  request.sampling = std::move(sampling);
  return request;
}

void Engine::Open(GenerationRequest request, Delivery delivery, Completion<GenerationHandle> done) {
  impl_->thread->Open(std::move(request), std::move(delivery), std::move(done));
}

void Engine::Close() {
  impl_->thread->Close();
}

EngineSnapshot Engine::Gauges() const {
  return impl_->thread->Gauges();
}

LoadedModel& LoadedModelOf(Engine& engine) {
  return engine.impl_->loaded;
}

}  // namespace hearth
