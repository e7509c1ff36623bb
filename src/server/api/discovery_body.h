// What a server says about itself: /v1/models, /v1, /health.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/sampling_parameters.h"
#include "server/api/json_body.h"

namespace hearth::api {

struct ModelCard {
  std::string id{};
  std::int64_t created = 0;  // seconds since 1970
  std::uint64_t context_length = 0;
  std::uint64_t vocabulary = 0;
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;
  bool reasoning = false;         // its answers are split into reasoning and content
  SamplingParameters defaults{};  // what a request gets that says nothing
};

// {"id", "object": "model", "created", "owned_by", "root", "parent", context under the names that clients look for
// (context_window, max_model_len), "capabilities", "gen_defaults", "meta"}
Json ModelBody(const ModelCard& model);

// {"object": "list", "data": [...]}, the served model first.
Json ModelListBody(std::span<const ModelCard> models);

// GET /v1: {"name", "version", "model", "endpoints"}.
Json IndexBody(
    std::string_view version, std::string_view model, std::span<const std::string> endpoints
);

enum class Health : std::uint8_t { kOk, kLoading, kDraining, kFailed };

// 200 for kOk, else 503.
int HealthStatus(Health health);

// Exactly {"status": "ok"}, or {"status": "loading" | "draining" | "failed", "error": {...}}.
Json HealthBody(Health health, const std::string& why = "");

}  // namespace hearth::api
