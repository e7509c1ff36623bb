#include "server/api/sampling_fields.h"

#include <charconv>
#include <limits>
#include <string>
#include <string_view>

#include "hearth/error.h"
#include "server/api/api_error.h"

namespace hearth::api {
namespace {

constexpr std::int64_t kMaxCount = std::numeric_limits<std::uint32_t>::max();

std::optional<std::uint32_t> Count(ObjectReader& body, std::string_view name, std::int64_t least) {
  const std::optional<std::int64_t> number = body.Integer(name, least, kMaxCount);
  if (!number) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(*number < 0 ? 0 : *number);
}

// 0 is off; between that and the smallest penalty nothing is meant.
std::optional<double> RepetitionPenalty(ObjectReader& body) {
  const auto penalty = body.Number("repetition_penalty", 0, kMaxRepetitionPenalty);
  if (penalty && *penalty != 0 && *penalty < kMinRepetitionPenalty) {
    body.Fail("repetition_penalty", *penalty, "0 (off) or a number from 0.001 to 1000");
  }
  return penalty;
}

std::optional<std::vector<LogitBias>> ReadLogitBias(ObjectReader& body) {
  constexpr std::string_view kName = "logit_bias";
  const Json* value = body.Find(kName);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_object()) {
    body.Fail(kName, *value, "an object of token ids to numbers");
  }
  if (value->size() > kMaxLogitBiases) {
    body.Fail(kName, value->size(), "at most 65536 entries");
  }
  std::vector<LogitBias> biases;
  biases.reserve(value->size());
  for (const auto& [key, bias] : value->items()) {
    TokenId token = 0;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), token);
    if (read.ec != std::errc() || read.ptr != key.data() + key.size()) {
      body.Fail(kName, "key " + key, "an object of token ids to numbers");
    }
    const double number = bias.is_number() ? bias.get<double>() : std::nan("");
    if (!(number >= -kMaxLogitBias && number <= kMaxLogitBias)) {
      FailAt(body.PathOf("logit_bias." + key), bias, "a number within 1e9 either side");
    }
    biases.push_back({token, number});
  }
  return biases;
}

std::optional<std::uint64_t> ReadSeed(ObjectReader& body) {
  const Json* value = body.Find("seed");
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->is_number_unsigned()) {
    return value->get<std::uint64_t>();
  }
  const std::optional<std::int64_t> number = WholeNumber(
      *value, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()
  );
  if (!number) {
    body.Fail("seed", *value, "a whole number of 64 bits");
  }
  if (*number == -1) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*number);
}

// The number of a configuration within its range, else nothing.
std::optional<double> Within(const Json& config, std::string_view name, double least, double most) {
  const auto found = config.find(name);
  if (found == config.end() || !found->is_number()) {
    return std::nullopt;
  }
  const auto number = found->get<double>();
  return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

// Sets `field` from the first of the sources that has the member.
template <class Field, class Member>
void Choose(
    Field& field,
    Member SamplingFields::* member,
    const SamplingFields& request,
    const SamplingFields& flags,
    const SamplingFields& model
) {
  for (const SamplingFields* source : {&request, &flags, &model}) {
    if (source->*member) {
      field = *(source->*member);
      return;
    }
  }
}

}  // namespace

SamplingFields ReadSamplingFields(ObjectReader& body) {
  SamplingFields fields;
  fields.temperature = body.Number("temperature", 0, kMaxTemperature);
  fields.top_k = Count(body, "top_k", -1);
  fields.top_p = body.Number("top_p", 0, 1);
  fields.min_p = body.Number("min_p", 0, 1);
  fields.min_tokens_to_keep = Count(body, "min_tokens_to_keep", 1);
  fields.repetition_penalty = RepetitionPenalty(body);
  fields.presence_penalty = body.Number("presence_penalty", -kMaxPenalty, kMaxPenalty);
  fields.frequency_penalty = body.Number("frequency_penalty", -kMaxPenalty, kMaxPenalty);
  fields.repetition_context = Count(body, "repetition_context_size", 0);
  fields.presence_context = Count(body, "presence_context_size", 0);
  fields.frequency_context = Count(body, "frequency_context_size", 0);
  fields.xtc_probability = body.Number("xtc_probability", 0, 1);
  fields.xtc_threshold = body.Number("xtc_threshold", 0, 0.5);
  fields.logit_bias = ReadLogitBias(body);
  fields.seed = ReadSeed(body);
  return fields;
}

SamplingFields ReadGenerationConfig(const Json& config) {
  SamplingFields fields;
  if (!config.is_object()) {
    return fields;
  }
  fields.temperature = Within(config, "temperature", 0, kMaxTemperature);
  fields.top_p = Within(config, "top_p", 0, 1);
  fields.min_p = Within(config, "min_p", 0, 1);
  fields.repetition_penalty =
      Within(config, "repetition_penalty", kMinRepetitionPenalty, kMaxRepetitionPenalty);
  if (const auto top_k = Within(config, "top_k", 0, static_cast<double>(kMaxCount))) {
    fields.top_k = static_cast<std::uint32_t>(*top_k);
  }
  if (const auto sample = config.find("do_sample"); sample != config.end() && *sample == false) {
    fields.temperature = 0;
  }
  return fields;
}

SamplingParameters MergeSampling(
    const SamplingFields& request, const SamplingFields& flags, const SamplingFields& model
) {
  SamplingParameters merged;
  merged.temperature = kBuiltInTemperature;
  const auto choose = [&](auto& field, auto member) {
    Choose(field, member, request, flags, model);
  };
  choose(merged.temperature, &SamplingFields::temperature);
  choose(merged.top_k, &SamplingFields::top_k);
  choose(merged.top_p, &SamplingFields::top_p);
  choose(merged.min_p, &SamplingFields::min_p);
  choose(merged.min_tokens_to_keep, &SamplingFields::min_tokens_to_keep);
  choose(merged.repetition_penalty, &SamplingFields::repetition_penalty);
  choose(merged.presence_penalty, &SamplingFields::presence_penalty);
  choose(merged.frequency_penalty, &SamplingFields::frequency_penalty);
  choose(merged.repetition_context, &SamplingFields::repetition_context);
  choose(merged.presence_context, &SamplingFields::presence_context);
  choose(merged.frequency_context, &SamplingFields::frequency_context);
  choose(merged.xtc_probability, &SamplingFields::xtc_probability);
  choose(merged.xtc_threshold, &SamplingFields::xtc_threshold);
  choose(merged.logit_bias, &SamplingFields::logit_bias);
  choose(merged.seed, &SamplingFields::seed);
  return merged;
}

}  // namespace hearth::api
