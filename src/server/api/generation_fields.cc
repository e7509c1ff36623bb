#include "server/api/generation_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "contracts/printable.h"
#include "server/api/api_error.h"

namespace hearth::api {
namespace {

constexpr std::string_view kNoTools = "tools are not supported by this server yet";
constexpr std::string_view kNoStructure = "structured output is not supported by this server yet";
constexpr std::string_view kNoAdapters = "adapters are not supported by this server yet";
constexpr std::string_view kNoMedia = "only text is supported by this server yet";

void RefuseMissingFeatures(ObjectReader& body) {
  body.Refuse("tools", kNoTools);
  // Without tools both say the same.
  body.Refuse("tool_choice", kNoTools, {"none", "auto"});
  body.IgnoreBool("parallel_tool_calls");
  body.Refuse("functions", kNoTools);
  body.Refuse("function_call", kNoTools, {"none", "auto"});
  body.Refuse("response_format", kNoStructure, {Json{{"type", "text"}}});
  body.Refuse("structured_outputs", kNoStructure);
  body.RefuseAll("guided_", kNoStructure);
  for (const char* name : {"grammar", "json_schema", "regex", "ebnf"}) {
    body.Refuse(name, kNoStructure);
  }
  for (const char* name : {"adapter", "adapters", "lora"}) {
    body.Refuse(name, kNoAdapters);
  }
  body.Refuse("modalities", kNoMedia, {Json::array({"text"})});
  body.Refuse("audio", kNoMedia);
  body.Refuse("prediction", "predicted outputs are not supported by this server yet");
  body.Refuse("web_search_options", "web search is not supported by this server");
  body.Refuse("hlg", "the tone curve is not supported by this server", {Json{{"enabled", false}}});
}

void AcceptWithoutEffect(ObjectReader& body) {
  for (const char* name : {"user", "service_tier", "safety_identifier", "prompt_cache_retention"}) {
    body.IgnoreString(name);
  }
  body.IgnoreBool("store");
  body.IgnoreObject("metadata");
}

std::string ReadSession(ObjectReader& body) {
  const auto session = body.String("session_id", kMaxNameBytes);
  const auto key = body.String("prompt_cache_key", kMaxNameBytes);
  return session ? *session : key.value_or("");
}

}  // namespace

std::vector<std::string> ReadStop(ObjectReader& body) {
  const Json* value = body.Find("stop");
  std::vector<std::string> stops;
  if (value == nullptr) {
    return stops;
  }
  const auto add = [&](const std::string& path, const Json& stop) {
    if (!stop.is_string() || stop == "") {
      FailAt(path, stop, "a string that is not empty");
    }
    stops.push_back(stop.get<std::string>());
    if (stops.back().size() > kMaxStopBytes) {
      FailAt(path, stop, fmt::format("at most {} bytes", kMaxStopBytes));
    }
  };
  if (!value->is_array()) {
    add(body.PathOf("stop"), *value);
    return stops;
  }
  if (value->size() > kMaxStops) {
    body.Fail("stop", value->size(), fmt::format("at most {} strings", kMaxStops));
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    add(fmt::format("{}[{}]", body.PathOf("stop"), i), (*value)[i]);
  }
  return stops;
}

std::optional<std::uint64_t> ReadTokenLimit(
    ObjectReader& body, std::string_view name, std::int64_t least
) {
  const Json* value = body.Find(name);
  if (value == nullptr || *value == -1) {
    return std::nullopt;
  }
  const auto number = body.Integer(name, least, kMaxTokens);
  return static_cast<std::uint64_t>(*number);
}

GenerationFields ReadGenerationFields(ObjectReader& body) {
  GenerationFields fields;
  fields.model = body.String("model", kMaxNameBytes).value_or("");
  RefuseMissingFeatures(body);
  AcceptWithoutEffect(body);
  fields.sampling = ReadSamplingFields(body);
  fields.n = static_cast<std::uint32_t>(body.Integer("n", 1, kMaxChoices).value_or(1));
  fields.stop = ReadStop(body);
  fields.stream = body.Bool("stream").value_or(false);
  fields.session_id = ReadSession(body);
  fields.use_cache = body.Bool("cache_prompt").value_or(true);
  if (const Json* options = body.Find("stream_options")) {
    ObjectReader reader(*options, body.PathOf("stream_options"));
    fields.include_usage = reader.Bool("include_usage").value_or(false);
    reader.IgnoreBool("include_obfuscation");
    fields.unknown = reader.Unknown();
  }
  return fields;
}

SamplingParameters SamplingOf(
    const GenerationFields& request, const SamplingFields& flags, const SamplingFields& model
) {
  SamplingParameters sampling = MergeSampling(request.sampling, flags, model);
  sampling.top_logprobs = request.top_logprobs;
  return sampling;
}

std::string WarningHeader(const std::vector<std::string>& unknown) {
  if (unknown.empty()) {
    return "";
  }
  constexpr std::size_t kNamed = 10;
  std::string names;
  for (std::size_t i = 0; i < std::min(unknown.size(), kNamed); ++i) {
    names += i == 0 ? "" : ", ";
    for (const char c : Printable(unknown[i], 60)) {
      // A header is ASCII, and the text stands within quotes.
      const bool plain = static_cast<unsigned char>(c) < 0x80 && c != '"' && c != '\\';
      names += plain ? c : '?';
    }
  }
  if (unknown.size() > kNamed) {
    names += fmt::format(" and {} more", unknown.size() - kNamed);
  }
  return fmt::format("299 - \"fields ignored: {}\"", names);
}

}  // namespace hearth::api
