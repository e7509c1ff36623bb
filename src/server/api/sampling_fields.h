// Sampling as requests, server flags and a model's generation_config.json spell it: each field given or not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hearth/sampling_parameters.h"
#include "server/api/json_body.h"
#include "server/api/object_reader.h"

namespace hearth::api {

// Names and meaning of hearth/sampling_parameters.h; nothing where a source says nothing.
struct SamplingFields {
  std::optional<double> temperature{};
  std::optional<std::uint32_t> top_k{};
  std::optional<double> top_p{};
  std::optional<double> min_p{};
  std::optional<std::uint32_t> min_tokens_to_keep{};
  std::optional<double> repetition_penalty{};
  std::optional<double> presence_penalty{};
  std::optional<double> frequency_penalty{};
  std::optional<std::uint32_t> repetition_context{};
  std::optional<std::uint32_t> presence_context{};
  std::optional<std::uint32_t> frequency_context{};
  std::optional<double> xtc_probability{};
  std::optional<double> xtc_threshold{};
  std::optional<std::vector<LogitBias>> logit_bias{};
  std::optional<std::uint64_t> seed{};

  bool operator==(const SamplingFields&) const = default;
};

// Reads the fields of a request: temperature, top_p, min_p, top_k (-1 is off), min_tokens_to_keep, repetition_penalty,
// presence_penalty, frequency_penalty, {repetition,presence,frequency}_context_size, xtc_probability, xtc_threshold,
// logit_bias ({"id": bias}; {} equals absent), seed (-1 draws one, as for llama-server; other negative numbers are seeds).
// Errors: RequestError(400) naming the field.
SamplingFields ReadSamplingFields(ObjectReader& body);

// Reads a model's generation_config.json: temperature, top_k, top_p, min_p, repetition_penalty; do_sample: false is
// temperature 0. What does not fit its range is left out: a model's file cannot refuse requests.
SamplingFields ReadGenerationConfig(const Json& config);

// What a request is sampled with when nobody says a temperature.
inline constexpr double kBuiltInTemperature = 0.7;

// For each field the first that says it: request, server flags, model, built in (temperature 0.7, everything else off).
// The result passes Validate when its sources do, but for ids of logit_bias past the vocabulary. Pure.
SamplingParameters MergeSampling(
    const SamplingFields& request, const SamplingFields& flags, const SamplingFields& model
);

}  // namespace hearth::api
