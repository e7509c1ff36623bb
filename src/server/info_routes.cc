#include "server/info_routes.h"

#include "hearth/engine.h"
#include "library/loaded_model.h"
#include "platform/peak_memory.h"
#include "server/api/discovery_body.h"

namespace hearth {
using boost::asio::awaitable;

awaitable<void> AnswerModels(RouteContext context, HttpExchange& exchange) {
  const api::ModelCard cards[] = {context.model.card()};
  return RespondJson(exchange, 200, api::ModelListBody(cards));
}

awaitable<void> AnswerModel(RouteContext context, HttpExchange& exchange) {
  const std::string id = exchange.request().path.substr(std::string_view("/v1/models/").size());
  if (id == context.model.id()) {
    return RespondJson(exchange, 200, api::ModelBody(context.model.card()));
  }
  api::ApiError error =
      api::ErrorOf(404, "no such model; this server has '" + context.model.id() + "'");
  error.code = "model_not_found";
  return RespondError(exchange, error);
}

awaitable<void> AnswerIndex(RouteContext context, HttpExchange& exchange) {
  const std::vector<std::string> endpoints = ServerEndpoints();
  return RespondJson(exchange, 200, api::IndexBody(HEARTH_VERSION, context.model.id(), endpoints));
}

awaitable<void> AnswerHealth(RouteContext context, HttpExchange& exchange) {
  const api::Health health = context.model.health();
  return RespondJson(exchange, api::HealthStatus(health), api::HealthBody(health));
}

awaitable<void> AnswerLive(RouteContext /*context*/, HttpExchange& exchange) {
  return RespondJson(exchange, 200, api::HealthBody(api::Health::kOk));
}

awaitable<void> AnswerMetrics(RouteContext context, HttpExchange& exchange) {
  HttpResponse response;
  response.headers.Add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  response.body = context.model.metrics().Text();
  awaitable<bool> responding = exchange.Respond(std::move(response));
  co_await std::move(responding);
}

awaitable<void> AnswerStats(RouteContext context, HttpExchange& exchange) {
  const Engine& engine = context.model.RequireEngine();
  const EngineSnapshot gauges = engine.Gauges();
  const ModelInfo& model = engine.model();
  const api::Json body = {
      {"model", context.model.id()},
      {"isa", model.isa},
      {"threads", model.threads},
      {"context_length", model.context_length},
      {"requests",
       {{"open", gauges.sessions},
        {"queued", gauges.queued},
        {"preparing", gauges.preparing},
        {"active", gauges.active},
        {"parked", gauges.parked}}},
      {"pages",
       {{"most", model.cache_pages}, {"used", gauges.pages_used}, {"cached", gauges.pages_cached}}},
      {"prompt_cache",
       {{"hits", gauges.cache_hits},
        {"misses", gauges.cache_misses},
        {"tokens", gauges.cached_tokens}}},
      {"totals",
       {{"steps", gauges.steps},
        {"prompt_tokens", gauges.prompt_tokens},
        {"generated_tokens", gauges.generated_tokens},
        {"preemptions", gauges.preemptions}}},
      {"peak_memory_bytes", PeakMemoryBytes()},
  };
  awaitable<void> responding = RespondJson(exchange, 200, body);
  co_await std::move(responding);
}

awaitable<void> AnswerFit(RouteContext context, HttpExchange& exchange) {
  Engine& engine = context.model.RequireEngine();
  const EngineOptions& options = context.options.engine;
  const MemoryPlan plan = LoadedModelOf(engine).PlanFor(
      {.batch = options.batch,
       .step_tokens = options.step_tokens,
       .prefill_tokens = options.prefill_tokens}
  );
  const ModelInfo& model = engine.model();
  const std::size_t tokens = model.context_length;
  const api::Json body = {
      {"context_tokens", tokens},
      {"report",
       {{"fits", plan.Fits(1, tokens)},
        {"weights_bytes", plan.weight_bytes},
        {"kv_bytes", plan.CacheBytes(1, tokens)},
        {"transient_bytes", plan.activation_bytes + plan.sampler_bytes},
        {"reserve_bytes", plan.reserve_bytes},
        {"total_bytes", plan.TotalBytes(1, tokens)},
        {"usable_bytes", plan.usable_bytes},
        {"max_safe_context", plan.LargestContext()}}},
  };
  awaitable<void> responding = RespondJson(exchange, 200, body);
  co_await std::move(responding);
}

}  // namespace hearth
