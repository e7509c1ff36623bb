// Token ids to text while they are generated.
#pragma once

#include <string>

#include "hearth/token.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace hearth {

// The text of one request's tokens, piece by piece. A piece never ends inside a character; joined, the pieces and the
// rest equal Tokenizer::Decode of all ids, wherever the ids were cut.
// Ownership: borrows the tokenizer. Threads: one user at a time. Cost: linear; holds at most three bytes.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}

  // The text that is complete with this token; may be empty.
  // Errors: Error(kInvalidArgument) when the id is not in the vocabulary; nothing changes then.
  std::string Push(TokenId id);

  // The rest: U+FFFD when the tokens end inside a character. The detokenizer may then start anew.
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  Utf8Stream stream_;
};

}  // namespace hearth
