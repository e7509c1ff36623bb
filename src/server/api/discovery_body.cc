#include "server/api/discovery_body.h"

#include <array>
#include <utility>

#include "server/api/api_error.h"

namespace hearth::api {

Json ModelBody(const ModelCard& model) {
  return {
      {"id", model.id},
      {"object", "model"},
      {"created", model.created},
      {"owned_by", "hearth"},
      {"root", model.id},
      {"parent", nullptr},
      {"context_window", model.context_length},
      {"max_model_len", model.context_length},
      {"capabilities",
       {{"reasoning", model.reasoning},
        {"vision", false},
        {"audio", false},
        {"tools", false},
        {"structured_output", false},
        {"embeddings", false},
        {"adapters", false}}},
      {"gen_defaults",
       {{"temperature", model.defaults.temperature},
        {"top_p", model.defaults.top_p},
        {"top_k", model.defaults.top_k},
        {"min_p", model.defaults.min_p}}},
      {"meta",
       {{"n_vocab", model.vocabulary},
        {"n_params", model.parameters},
        {"size", model.weight_bytes}}}
  };
}

Json ModelListBody(std::span<const ModelCard> models) {
  Json data = Json::array();
  for (const ModelCard& model : models) {
    data.push_back(ModelBody(model));
  }
  return {{"object", "list"}, {"data", std::move(data)}};
}

Json IndexBody(
    std::string_view version, std::string_view model, std::span<const std::string> endpoints
) {
  Json names = Json::array();
  for (const std::string& endpoint : endpoints) {
    names.push_back(endpoint);
  }
  return {
      {"name", "hearth"}, {"version", version}, {"model", model}, {"endpoints", std::move(names)}
  };
}

int HealthStatus(Health health) {
  return health == Health::kOk ? 200 : 503;
}

Json HealthBody(Health health, const std::string& why) {
  constexpr std::array<std::string_view, 4> kNames = {"ok", "loading", "draining", "failed"};
  const std::string_view name = kNames[static_cast<std::size_t>(health)];
  Json body = {{"status", name}};
  if (health != Health::kOk) {
    const std::string message = why.empty() ? "server: " + std::string(name) : why;
    body["error"] = ErrorBody(ErrorOf(503, message))["error"];
  }
  return body;
}

}  // namespace hearth::api
