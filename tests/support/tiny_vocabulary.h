// A byte-level vocabulary made by hand, for the tests of this layer: every byte, a few merges, special entries.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "contracts/tokenizer_description.h"

namespace hearth {

// The character that stands for a byte in the printable alphabet, written out independently of byte_alphabet.cc.
inline std::string PrintableByte(unsigned char byte) {
  const bool plain =
      (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  unsigned code = byte;
  if (!plain) {
    // The bytes without a printable character follow each other from U+0100 on: 00-20, 7F-A0, AD.
    code = byte <= 0x20 ? 0x100U + byte : byte <= 0xa0 ? 0x121U + (byte - 0x7fU) : 0x143U;
  }
  if (code < 0x80) {
    return {static_cast<char>(code)};
  }
  return {static_cast<char>(0xc0U | (code >> 6U)), static_cast<char>(0x80U | (code & 0x3fU))};
}

inline std::string PrintableBytes(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += PrintableByte(static_cast<unsigned char>(c));
  }
  return text;
}

// Ids 0-255 are the bytes; then the merges' results from 256 on, then the given entries.
struct TinyVocabulary {
  TokenizerDescription description;

  explicit TinyVocabulary(std::string_view pre = "gpt-2") {
    description.model = "gpt2";
    description.pre = pre;
    for (unsigned byte = 0; byte < 256; ++byte) {
      Add(PrintableByte(static_cast<unsigned char>(byte)), TokenKind::kNormal);
    }
  }

  TokenId Add(std::string text, TokenKind kind) {
    description.tokens.push_back(std::move(text));
    description.kinds.push_back(kind);
    return static_cast<TokenId>(description.tokens.size() - 1);
  }

  // The entry for left + right, both as bytes, and the merge that makes it.
  TokenId Merge(std::string_view left, std::string_view right) {
    description.merges.push_back(PrintableBytes(left) + " " + PrintableBytes(right));
    return Add(PrintableBytes(std::string(left) + std::string(right)), TokenKind::kNormal);
  }
};

}  // namespace hearth
