// The printable alphabet in which byte-level BPE vocabularies write bytes: each of the 256 has a character.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

// The bytes that the characters stand for; the text itself when one of them is not of the alphabet, as in entries
// that were added as plain text.
// Source: GPT-2's encoder: printable Latin-1 stands for itself, the other bytes follow from U+0100 on.
std::string BytesOfPrintable(std::string_view text);

}  // namespace hearth
