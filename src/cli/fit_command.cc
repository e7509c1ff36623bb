#include "cli/fit_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/byte_size.h"
#include "engine/memory.h"
#include "library/loaded_model.h"
#include "library/model_directory.h"
#include "library/model_memory.h"
#include "models/gguf_model.h"
#include "models/gguf_weights.h"
#include "platform/file_map.h"
#include "platform/memory_limits.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFits = 0;
constexpr int kDoesNotFit = 1;

void PrintLine(const char* name, std::size_t bytes, const std::string& words = {}) {
  fmt::print("{:<16}{:>11}{}{}\n", name, FormatByteSize(bytes), words.empty() ? "" : "  ", words);
}

}  // namespace

int RunFit(const FitOptions& options) {
  const EngineOptions& engine = options.engine;
  const FileMap map(FindModel(engine.model.empty() ? kDefaultModel : engine.model));
  const GgufFile file(map.bytes(), map.name());
  const auto members = static_cast<std::size_t>(TeamMembers(engine));
  const ModelFacts model = GgufModelFacts(file, GgufWeights(map, file), engine.numerics, members);
  const MemoryFacts facts = MemoryFactsOf(model, map.bytes().size(), members);
  const MemoryBudget budget = BudgetFor(ReadMemoryLimits(), engine.memory_budget, facts);
  const StepSizes steps{.batch = options.rows};
  const MemoryPlan plan = PlanMemory(facts, steps, budget);
  const std::size_t context = options.context.value_or(facts.context_length);
  const std::size_t cache = plan.CacheBytes(options.rows, context);
  const std::size_t total = plan.TotalBytes(options.rows, context);
  const std::size_t rows_that_fit = RowsThatFit(facts, steps, budget, context);
  const std::string why_not = plan.WhyNot(options.rows, context);
  if (options.json) {
    Json result = {
        {"model", map.name()},
        {"numerics", NumericsName(engine.numerics)},
        {"threads", members},
        {"context", context},
        {"rows", options.rows},
        {"fits", why_not.empty()},
        {"weight_bytes", plan.weight_bytes},
        {"mapped_bytes", facts.mapped_bytes},
        {"kv_bytes", cache},
        {"page_bytes", plan.page_bytes},
        {"page_tokens", plan.page_tokens},
        {"activation_bytes", plan.activation_bytes},
        {"sampler_bytes", plan.sampler_bytes},
        {"reserve_bytes", plan.reserve_bytes},
        {"total_bytes", total},
        {"usable_bytes", plan.usable_bytes},
        {"usable_for_cache_bytes", std::min(plan.usable_bytes, plan.cache_bytes)},
        {"model_context", facts.context_length},
        {"largest_context", plan.LargestContext()},
        {"rows_that_fit", rows_that_fit},
    };
    if (!why_not.empty()) {
      result["why_not"] = why_not;
    }
    fmt::print("{}\n", result.dump(2, ' ', false, Json::error_handler_t::replace));
    return why_not.empty() ? kFits : kDoesNotFit;
  }
  fmt::print("{}\n\n", map.name());
  PrintLine(
      "weights",
      plan.weight_bytes,
      fmt::format("{} of them read where the file is mapped", FormatByteSize(facts.mapped_bytes))
  );
  PrintLine(
      "cache",
      cache,
      fmt::format(
          "{} x {} tokens, {} for {}",
          options.rows,
          context,
          FormatByteSize(plan.page_bytes),
          plan.page_tokens
      )
  );
  PrintLine(
      "activations",
      plan.activation_bytes,
      fmt::format("steps of up to {} tokens, logits", steps.prefill_tokens)
  );
  PrintLine("samplers", plan.sampler_bytes);
  PrintLine("reserve", plan.reserve_bytes, "program, tokenizer, threads");
  PrintLine("total", total);
  PrintLine(
      "usable",
      plan.usable_bytes,
      plan.cache_bytes < plan.usable_bytes
          ? FormatByteSize(plan.cache_bytes) + " of it for the cache"
          : ""
  );
  fmt::print(
      "\n{:<16}{:>11}{}\n",
      "fits",
      why_not.empty() ? "yes" : "no",
      why_not.empty() ? "" : "  " + why_not
  );
  fmt::print(
      "{:<16}{:>11}  of the model's {}\n",
      "largest context",
      plan.LargestContext(),
      facts.context_length
  );
  fmt::print("{:<16}{:>11}  of {} tokens\n", "rows that fit", rows_that_fit, context);
  return why_not.empty() ? kFits : kDoesNotFit;
}

}  // namespace hearth
