// Vocabulary entries that end an answer in the chat and text formats of published models, known by their text:
// many files name one of the ids and leave out the others, or call such an entry an ordinary word.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "contracts/tokenizer_description.h"
#include "hearth/token.h"

namespace hearth {

// Whether an entry with this text is a special token that ends an answer, whatever kind its file gives it.
bool IsEndMarker(std::string_view text);

struct EndTokens {
  std::vector<TokenId> ends;  // ascending: what the file names, and the markers of its vocabulary
  std::optional<TokenId> turn_end;  // the eot token of the file, else the marker that ends a turn
};

// Cost: linear in the vocabulary.
EndTokens FindEndTokens(const TokenizerDescription& description);

}  // namespace hearth
