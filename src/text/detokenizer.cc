#include "text/detokenizer.h"

namespace hearth {

std::string Detokenizer::Push(TokenId id) {
  std::string text;
  const std::string_view bytes = tokenizer_.TokenBytes(id);
  if (!skip_special_ || !tokenizer_.IsSpecial(id)) {
    stream_.Push(bytes, text);
  }
  return text;
}

std::string Detokenizer::Finish() {
  std::string text;
  stream_.Finish(text);
  return text;
}

}  // namespace hearth
