// How text is cut into words before the merges of a byte-level BPE apply, by the name that a GGUF file gives.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace hearth {

enum class CutKind {
  kPattern,                // each match, and each stretch between matches, is a word of its own
  kIndividualDigits,       // each digit
  kContiguousDigits,       // a run of digits
  kContiguousPunctuation,  // a run of punctuation
};

struct Cut {
  CutKind kind;
  std::string_view pattern =
      {};  // of kPattern: an expression whose only look-around is the end \s+(?!\S)|\s+
};

struct PreTokenizer {
  std::vector<std::string_view> names;  // values of tokenizer.ggml.pre
  std::vector<Cut> cuts;                // applied one after the other
  bool normalizes_nfc = false;          // text is brought into Unicode's form NFC first
  bool ignores_merges = false;          // a word that is in the vocabulary is that entry
  bool adds_bos = false;                // when the file does not say
  bool cleans_spaces =
      true;  // the published configuration removes spaces before punctuation on decoding
};

// Every pre-tokenizer that is known.
// Source: tokenizer.json of the published models, under the names that llama.cpp's conversion gives them.
//         Where llama.cpp's own splitting differs from the published file, the file is followed; above all it
//         does not normalize, and the files of qwen2, qwen35, command-r and the GPT-NeoX family do.
std::span<const PreTokenizer> PreTokenizers();

// Ownership: a value that lives as long as the program.
// Errors:    Error(kUnsupported) naming it when it is not known or empty.
const PreTokenizer& FindPreTokenizer(std::string_view name);

}  // namespace hearth
