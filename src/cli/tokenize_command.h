// `hearth tokenize`: the token ids of a text.
#pragma once

#include <optional>
#include <string>

namespace hearth {

struct TokenizeOptions {
  std::string model;
  std::optional<std::string> text;  // none: standard input
  bool special = false;             // read special tokens in the text as such
  bool add_special = false;         // put the tokens around it that the model's file asks for
  bool json = false;
};

// Prints one line a token (id and text), or a JSON object. Returns the exit code.
// Errors: those of the file and of the text (which must be UTF-8).
int RunTokenize(const TokenizeOptions& options);

}  // namespace hearth
