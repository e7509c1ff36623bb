// Text to token ids and back, as Hugging Face tokenizers does it, for the byte-level BPE vocabularies that model files
// carry. Knows nothing of models or requests.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contracts/tokenizer_description.h"
#include "hearth/token.h"

namespace hearth {

// Longest text that is encoded at once; a million tokens of English have about 4.5 MB.
inline constexpr std::size_t kMaxEncodedTextBytes = std::size_t{8} * 1024 * 1024;

struct EncodeOptions {
  bool add_special = false;  // put bos before and eos behind, where the model wants them
  bool parse_special =
      false;  // text like "<|im_end|>" becomes its special token; off: it is plain text
};

struct DecodeOptions {
  bool skip_special = false;  // leave special tokens out
  bool clean_spaces = false;  // then CleanSpaces; never done while streaming
};

// Threads: immutable; any number of threads may use one at once.
class Tokenizer {
 public:
  // Errors: Error(kUnsupported) naming the vocabulary's model ("llama", "bert", ...) or the pre-tokenizer when it is
  //         not known; Error(kCorruptData) when ids, kinds or merges do not fit the vocabulary.
  // Cost:   about 2 us and 300 bytes for each entry and merge.
  explicit Tokenizer(const TokenizerDescription& description);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // The ids of `text`, all below vocabulary_size(). Entries that the file marks as user-defined are found in the text
  // before anything else; control entries only with parse_special.
  // Errors: Error(kInvalidArgument) with the offset when the text is not UTF-8; Error(kResourceExhausted) when it is
  //         longer than kMaxEncodedTextBytes.
  // Cost:   linear; about 0.5 us and 150 bytes of memory a byte of text.
  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  // The text of the ids, always valid UTF-8: bytes that form no character become U+FFFD (utf8_stream.h).
  // Errors: Error(kInvalidArgument) naming the first id that is not in the vocabulary.
  std::string Decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  // The bytes that an id stands for; they may be a part of a character.
  // Ownership: borrows from the tokenizer. Errors: as Decode.
  std::string_view TokenBytes(TokenId id) const;

  // The id whose text is exactly this, for example "<|im_end|>"; for ordinary entries in the vocabulary's own alphabet.
  std::optional<TokenId> FindToken(std::string_view text) const;

  // Whether an id is left out by skip_special. False for ids outside the vocabulary.
  bool IsSpecial(TokenId id) const;

  // Whether an id ends an answer: what the file names, and known markers in its vocabulary (end_markers.h).
  bool IsEndOfGeneration(TokenId id) const;

  std::size_t vocabulary_size() const;
  std::optional<TokenId> bos() const;
  std::optional<TokenId> eos() const;
  std::optional<TokenId> eot() const;  // ends a turn
  std::optional<TokenId> unknown() const;
  std::optional<TokenId> padding() const;
  std::span<const TokenId> end_of_generation() const;  // ascending
  bool adds_bos() const;                               // what add_special does
  bool adds_eos() const;
  bool normalizes() const;     // text is brought into NFC first, as the published tokenizer does
  bool cleans_spaces() const;  // the published configuration decodes with CleanSpaces

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

// Removes the space before punctuation and before English contractions, as the configurations of older tokenizers ask
// for. It changes what the model wrote ("a . b" becomes "a. b"), so nothing does it unasked.
// Source: clean_up_tokenization of Hugging Face transformers.
std::string CleanSpaces(std::string text);

}  // namespace hearth
