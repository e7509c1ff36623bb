#include "server/api/logprobs_body.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <utility>

#include "hearth/error.h"
#include "text/utf8_stream.h"

namespace hearth::api {
namespace {

constexpr float kZeroProbability = -9999.0F;

bool IsImpossible(float logprob) {
  return logprob == -std::numeric_limits<float>::infinity();
}

double Number(float logprob) {
  if (IsImpossible(logprob)) {
    return kZeroProbability;
  }
  if (!std::isfinite(logprob)) {
    throw Error(ErrorCode::kInternal, fmt::format("logprobs: got {}, wanted a number", logprob));
  }
  return ShortNumber(logprob);
}

std::string TextOf(std::string_view bytes) {
  std::string text;
  Utf8Stream stream;
  stream.Push(bytes, text);
  stream.Finish(text);
  return text;
}

// The name of a token where there is no place for its bytes.
std::string NameOf(std::string_view bytes) {
  std::string text = TextOf(bytes);
  if (text == bytes) {
    return text;
  }
  text = "bytes:";
  for (const char byte : bytes) {
    text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text;
}

Json ChatToken(std::string_view bytes, float logprob) {
  Json codes = Json::array();
  for (const char byte : bytes) {
    codes.push_back(static_cast<unsigned char>(byte));
  }
  return {{"token", TextOf(bytes)}, {"logprob", Number(logprob)}, {"bytes", std::move(codes)}};
}

bool HasLogprob(const LogprobEntry& entry) {
  return entry.logprobs && entry.logprobs->logprob;
}

}  // namespace

Json ChatLogprobs(std::span<const LogprobEntry> entries, const TokenBytes& bytes_of) {
  Json content = Json::array();
  for (const LogprobEntry& entry : entries) {
    if (!HasLogprob(entry)) {
      continue;
    }
    Json token = ChatToken(bytes_of(entry.id), *entry.logprobs->logprob);
    Json& top = token["top_logprobs"] = Json::array();
    if (entry.logprobs->top) {
      for (const TopLogprob& other : *entry.logprobs->top) {
        if (!IsImpossible(other.logprob)) {
          top.push_back(ChatToken(bytes_of(other.id), other.logprob));
        }
      }
    }
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json CompletionLogprobs(std::span<const LogprobEntry> entries, const TokenBytes& bytes_of) {
  Json tokens = Json::array();
  Json logprobs = Json::array();
  Json tops = Json::array();
  Json offsets = Json::array();
  for (const LogprobEntry& entry : entries) {
    tokens.push_back(NameOf(bytes_of(entry.id)));
    offsets.push_back(entry.text_offset);
    if (!HasLogprob(entry)) {
      logprobs.push_back(nullptr);
      tops.push_back(nullptr);
      continue;
    }
    logprobs.push_back(Number(*entry.logprobs->logprob));
    Json top = Json::object();
    if (entry.logprobs->top) {
      for (const TopLogprob& other : *entry.logprobs->top) {
        // Two tokens may have one name; the more probable one comes first and stays.
        if (const std::string name = NameOf(bytes_of(other.id));
            !IsImpossible(other.logprob) && !top.contains(name)) {
          top[name] = Number(other.logprob);
        }
      }
    }
    tops.push_back(std::move(top));
  }
  return {
      {"tokens", std::move(tokens)},
      {"token_logprobs", std::move(logprobs)},
      {"top_logprobs", std::move(tops)},
      {"text_offset", std::move(offsets)}
  };
}

}  // namespace hearth::api
