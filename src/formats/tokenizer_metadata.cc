#include "formats/tokenizer_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/gguf_metadata.h"
#include "hearth/error.h"

namespace hearth {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kKindsKey = "tokenizer.ggml.token_type";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";

// Control tokens that end a turn or a text in the chat formats of published models.
constexpr std::string_view kEndMarkers[] = {
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<end_of_turn>",
};

[[noreturn]] void Corrupt(const GgufFile& file, const std::string& what) {
  throw Error(ErrorCode::kCorruptData, fmt::format("{}: {}", file.name(), what));
}

void CheckLength(
    const GgufFile& file, std::string_view key, std::size_t length, std::size_t tokens
) {
  if (length != tokens) {
    Corrupt(
        file,
        fmt::format(
            "key '{}' has {} elements, wanted one for each of {} tokens", key, length, tokens
        )
    );
  }
}

void CheckLimit(const GgufFile& file, std::string_view key, std::uint64_t limit) {
  const std::uint64_t count = FindArrayLength(file, key).value_or(0);
  if (count > limit) {
    throw Error(
        ErrorCode::kResourceExhausted,
        fmt::format("{}: key '{}' has {} elements, the limit is {}", file.name(), key, count, limit)
    );
  }
}

std::vector<std::string> ReadTokens(const GgufFile& file) {
  CheckLimit(file, kTokensKey, kMaxVocabulary);
  std::vector<std::string> tokens = RequireStrings(file, kTokensKey);
  if (tokens.empty()) {
    Corrupt(file, fmt::format("key '{}' is empty", kTokensKey));
  }
  return tokens;
}

std::vector<std::string> ReadMerges(const GgufFile& file) {
  CheckLimit(file, kMergesKey, kMaxMerges);
  return FindStrings(file, kMergesKey).value_or(std::vector<std::string>{});
}

std::vector<TokenKind> ReadKinds(const GgufFile& file, std::size_t tokens) {
  const auto numbers = FindIntegers(file, kKindsKey);
  if (!numbers) {
    return {};
  }
  CheckLength(file, kKindsKey, numbers->size(), tokens);
  std::vector<TokenKind> kinds;
  kinds.reserve(tokens);
  for (const std::int64_t number : *numbers) {
    if (number < static_cast<int>(TokenKind::kNormal) ||
        number > static_cast<int>(TokenKind::kByte)) {
      Corrupt(
          file,
          fmt::format(
              "key '{}' has kind {} for token {}, wanted 1 to 6", kKindsKey, number, kinds.size()
          )
      );
    }
    kinds.push_back(static_cast<TokenKind>(number));
  }
  return kinds;
}

std::optional<TokenId> FindId(const GgufFile& file, std::string_view name, std::size_t tokens) {
  const auto id =
      FindUnsigned(file, fmt::format("tokenizer.ggml.{}_token_id", name), {0, tokens - 1});
  return id ? std::optional(static_cast<TokenId>(*id)) : std::nullopt;
}

std::vector<TokenId> FindEnds(const GgufFile& file, const TokenizerDescription& description) {
  std::vector<TokenId> ends;
  const auto add = [&](TokenId id) {
    if (id != description.eos && id != description.eot &&
        std::find(ends.begin(), ends.end(), id) == ends.end()) {
      ends.push_back(id);
    }
  };
  if (const auto eom = FindId(file, "eom", description.tokens.size())) {
    add(*eom);
  }
  for (std::size_t id = 0; id < description.kinds.size(); ++id) {
    if (description.kinds[id] == TokenKind::kControl &&
        std::find(std::begin(kEndMarkers), std::end(kEndMarkers), description.tokens[id]) !=
            std::end(kEndMarkers)) {
      add(static_cast<TokenId>(id));
    }
  }
  return ends;
}

}  // namespace

TokenizerDescription ReadTokenizer(const GgufFile& file) {
  TokenizerDescription description;
  description.model = RequireString(file, "tokenizer.ggml.model");
  description.pre = FindString(file, "tokenizer.ggml.pre").value_or("");
  description.tokens = ReadTokens(file);
  const std::size_t tokens = description.tokens.size();
  description.kinds = ReadKinds(file, tokens);
  if (auto scores = FindFloats(file, kScoresKey)) {
    CheckLength(file, kScoresKey, scores->size(), tokens);
    description.scores = *std::move(scores);
  }
  description.merges = ReadMerges(file);

  description.bos = FindId(file, "bos", tokens);
  description.eos = FindId(file, "eos", tokens);
  description.eot = FindId(file, "eot", tokens);
  description.unknown = FindId(file, "unknown", tokens);
  description.padding = FindId(file, "padding", tokens);
  description.end_of_generation = FindEnds(file, description);
  description.add_bos = FindBool(file, "tokenizer.ggml.add_bos_token");
  description.add_eos = FindBool(file, "tokenizer.ggml.add_eos_token");
  description.chat_template = FindString(file, "tokenizer.chat_template").value_or("");
  return description;
}

}  // namespace hearth
