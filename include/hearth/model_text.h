// A model's own text: tokens of a text, the prompt of a chat, the text of tokens while they come.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/token.h"

namespace hearth {

struct ChatMessage {
  std::string role;  // what the model's template knows: "system", "user", "assistant"
  std::string content;

  bool operator==(const ChatMessage&) const = default;
};

struct TokenizeOptions {
  bool add_special = false;  // the tokens that the model wants around a text
  bool parse_special =
      false;  // text like "<|im_end|>" becomes its special token; off: it is plain text
};

// The text of one answer, piece by piece. A piece never ends inside a character. Special tokens print as nothing.
// Ownership: keeps what it needs of the model's text. Threads: one user at a time.
class TextStream {
 public:
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;
  ~TextStream();

  // The text that is complete with these tokens; may be empty.
  // Errors: kInvalidArgument when an id is not in the vocabulary.
  std::string Push(TokenId token);
  std::string Push(std::span<const TokenId> tokens);

  // The rest: U+FFFD when the tokens end inside a character. The stream may then start anew.
  std::string Finish();

 private:
  friend class ModelText;
  struct Impl;
  explicit TextStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Ownership: copies share what was read. Threads: immutable; any number of threads may use one at once.
class ModelText {
 public:
  // Reads tokenizer and chat template of a model file, or of an installed model by its name, without the weights.
  // Errors: kNotFound; kCorruptData for a broken file, kUnsupported for a tokenizer that hearth does not have.
  static ModelText Open(const std::string& model);

  // Errors: kInvalidArgument with the offset when the text is not UTF-8; kResourceExhausted past 8 MiB.
  std::vector<TokenId> Tokenize(std::string_view text, const TokenizeOptions& options = {}) const;

  // The text of all ids, without special tokens; bytes that form no character become U+FFFD.
  // Errors: kInvalidArgument naming the first id that is not in the vocabulary.
  std::string Detokenize(std::span<const TokenId> tokens) const;

  // The bytes of one token; may be a part of a character.
  // Life: as long as a copy of this object lives. Errors: as Detokenize.
  std::string_view TokenBytes(TokenId token) const;

  // The stream of a new answer.
  TextStream Stream() const;

  // The conversation as the model's template writes it, ending where the assistant's answer begins.
  // Errors: kNotFound when the model has no template; kInvalidArgument when it refuses the conversation.
  std::string RenderChat(const std::vector<ChatMessage>& messages) const;

  // The same as tokens: the prompt of an answer. Errors: those of RenderChat and Tokenize, and kCorruptData when the
  // template writes nothing.
  std::vector<TokenId> ChatPrompt(const std::vector<ChatMessage>& messages) const;

  // Tokens that end an answer, ascending.
  const std::vector<TokenId>& stop_tokens() const;

  struct Parts;  // the library's own

  explicit ModelText(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

}  // namespace hearth
