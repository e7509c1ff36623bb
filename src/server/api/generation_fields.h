// What chat and completion requests have in common: how to generate and how to deliver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/api/object_reader.h"
#include "server/api/sampling_fields.h"

namespace hearth::api {

inline constexpr std::uint32_t kMaxChoices = 128;   // n
inline constexpr std::size_t kMaxStops = 16;        // stop strings of a request
inline constexpr std::size_t kMaxStopBytes = 1024;  // of each
inline constexpr std::size_t kMaxNameBytes = 1024;  // model, session_id, user and their like
inline constexpr std::int64_t kMaxTokens = 1'000'000'000;

struct GenerationFields {
  std::string model{};  // as the client wrote it; empty when it did not
  SamplingFields sampling{};
  std::optional<std::uint64_t>
      max_tokens{};  // nothing: the server's default, or what the context leaves
  std::uint32_t n = 1;
  std::vector<std::string> stop{};  // none is empty
  // Log probabilities of the answer's tokens, each with this many alternatives. Nothing: not asked for.
  std::optional<std::uint32_t> top_logprobs{};
  bool stream = false;
  bool include_usage = false;  // of stream_options
  std::string session_id{};    // session_id, else prompt_cache_key: whose conversation goes on
  bool use_cache = true;       // cache_prompt
  // Fields that were accepted and did nothing, as paths: for the Warning header.
  std::vector<std::string> unknown{};
};

// Reads everything but what only one route has (prompt, messages, logprobs, echo, max_tokens below 1). Fields of features
// that are not there are refused by name unless they ask for nothing; fields that cannot change the answer are accepted.
// The caller fills `unknown` from `body` when it has read its own.
// Errors: RequestError(400) naming the field.
GenerationFields ReadGenerationFields(ObjectReader& body);

// How a request is sampled: MergeSampling, with the log probabilities that it asks for.
SamplingParameters SamplingOf(
    const GenerationFields& request, const SamplingFields& flags, const SamplingFields& model
);

// "stop": a string or an array of them. An empty string is refused: it would end every answer at once, and leaving it out
// would not be what was asked.
std::vector<std::string> ReadStop(ObjectReader& body);

// A limit of tokens; -1 is none, as several clients write it.
std::optional<std::uint64_t> ReadTokenLimit(
    ObjectReader& body, std::string_view name, std::int64_t least
);

// The value of a Warning header for fields that were ignored: 299 - "fields ignored: foo, bar". Empty when there are none;
// names at most ten, printable ASCII.
std::string WarningHeader(const std::vector<std::string>& unknown);

}  // namespace hearth::api
