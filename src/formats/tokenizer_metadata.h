// The tokenizer of a GGUF file, from its "tokenizer.*" metadata. Checks that the parts agree; what the parts mean is
// the text layer's business.
#pragma once

#include <cstdint>

#include "contracts/tokenizer_description.h"
#include "formats/gguf.h"

namespace hearth {

// The largest vocabulary that is read; published models stay below 300,000.
inline constexpr std::uint64_t kMaxVocabulary = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMaxMerges = std::uint64_t{1} << 21;

// Reads model, pre, tokens, token_type, scores, merges, the special ids, add_bos/add_eos and the chat template.
// end_of_generation gets "eom_token_id" and the control tokens whose text is a known end-of-turn marker: many files
// name only one of the ids that end an answer.
// Errors: Error(kCorruptData) when a key is missing or has another type, when lists differ in length, an id is not in
//         the vocabulary or a token kind is not known; Error(kResourceExhausted) past kMaxVocabulary or kMaxMerges.
// Source: the GGUF specification in ggml's docs/gguf.md, section on tokenizers.
TokenizerDescription ReadTokenizer(const GgufFile& file);

}  // namespace hearth
