#include "contracts/printable.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Printable, KeepsText) {
  EXPECT_EQ(Printable(""), "");
  EXPECT_EQ(Printable("llama.block_count"), "llama.block_count");
  EXPECT_EQ(Printable("Gr\u00fc\u00dfe \u20ac \U0001f600"), "Gr\u00fc\u00dfe \u20ac \U0001f600");
}

TEST(Printable, EscapesWhatWouldBreakALine) {
  EXPECT_EQ(Printable("a\nb\rc\td\x7f"), "a\\x0ab\\x0dc\\x09d\\x7f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(
      Printable("\xc2\x85|\xe2\x80\xa8|\xe2\x80\xa9"), "\\xc2\\x85|\\xe2\\x80\\xa8|\\xe2\\x80\\xa9"
  );
  EXPECT_EQ(Printable("\\x0a"), "\\x5cx0a");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(Printable("\xff"), "\\xff");
  EXPECT_EQ(Printable("\x80z"), "\\x80z");
  EXPECT_EQ(Printable("\xe2\x82"), "\\xe2\\x82");                    // cut
  EXPECT_EQ(Printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(Printable("\xe0\x9f\xbf"), "\\xe0\\x9f\\xbf");           // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past U+10FFFF
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(Printable("abcdef", 6), "abcdef");
  EXPECT_EQ(Printable("abcdef", 5), "abcde...");
  EXPECT_EQ(Printable("ab\u20ac", 4), "ab...");
  EXPECT_EQ(Printable("ab\u20ac", 5), "ab\u20ac");
}

}  // namespace
}  // namespace hearth
