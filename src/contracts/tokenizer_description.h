// What a tokenizer is made of, as a model file states it. `formats` fills it from metadata, `text`
// builds a tokenizer from it; neither knows the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/token.h"

namespace hearth {

// The kinds of vocabulary entries, numbered as GGUF's tokenizer.ggml.token_type.
enum class TokenKind : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

struct TokenizerDescription {
  std::string model;  // "gpt2" is byte-level BPE
  std::string pre;    // name of the pre-tokenizer, for example "smollm"; may be empty
  std::vector<std::string>
      tokens;  // [vocabulary] text of each id, in the model's own alphabet; bytes, may be invalid UTF-8
  std::vector<TokenKind> kinds;     // [vocabulary]; empty means all normal
  std::vector<float> scores;        // [vocabulary]; empty for BPE
  std::vector<std::string> merges;  // "left right", best first
  std::optional<TokenId> bos, eos, eot, unknown, padding;
  std::vector<TokenId> end_of_generation;  // further ids that end an answer
  // Whether a prompt starts with bos and ends with eos when special tokens are added; empty: the file does not say.
  std::optional<bool> add_bos, add_eos;
  std::string chat_template;  // Jinja source; empty when the file has none
};

}  // namespace hearth
