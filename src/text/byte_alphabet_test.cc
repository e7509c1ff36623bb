#include "text/byte_alphabet.h"

#include <gtest/gtest.h>

#include "support/tiny_vocabulary.h"

namespace hearth {
namespace {

TEST(ByteAlphabet, EveryByteHasOneCharacter) {
  for (unsigned byte = 0; byte < 256; ++byte) {
    const auto value = static_cast<unsigned char>(byte);
    EXPECT_EQ(BytesOfPrintable(PrintableByte(value)), std::string(1, static_cast<char>(value)));
  }
  EXPECT_EQ(BytesOfPrintable("\u0120hello\u010a"), " hello\n");
}

TEST(ByteAlphabet, OtherTextStaysAsItIs) {
  for (const char* text :
       {"", "a b", "\u0144", "\u2581x", "\xff", "\xc3", "\xc3(", "\xe2\x82", "\x7f"}) {
    EXPECT_EQ(BytesOfPrintable(text), text);
  }
}

}  // namespace
}  // namespace hearth
