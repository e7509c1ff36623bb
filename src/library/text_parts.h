// What stands behind ModelText: a model's tokenizer and template, read from its file once.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "hearth/model_text.h"
#include "hearth/token.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace hearth {

// Threads: immutable.
struct ModelText::Parts {
  // Errors: those of the file's tokenizer. A template that is missing or does not parse is an error only when it is used.
  explicit Parts(const GgufFile& file);

  // Errors: kNotFound when the file has none; those of one that does not parse.
  const ChatTemplate& Template() const;

  Tokenizer tokenizer;
  std::vector<TokenId> stop_tokens;

 private:
  Parts(const GgufFile& file, const TokenizerDescription& description);

  std::optional<ChatTemplate> template_;
  std::exception_ptr no_template_;
};

}  // namespace hearth
