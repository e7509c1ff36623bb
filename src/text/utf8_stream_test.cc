#include "text/utf8_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hearth {
namespace {

std::string Decode(std::string_view bytes) {
  Utf8Stream stream;
  std::string text;
  stream.Push(bytes, text);
  stream.Finish(text);
  return text;
}

TEST(Utf8Stream, ValidTextStays) {
  for (const char* text :
       {"", "abc", "\u00e9\u0418", "\u20ac\ud7ff\ue000", "\U0001f600\U0010ffff"}) {
    EXPECT_EQ(Decode(text), text);
  }
  EXPECT_EQ(Decode(std::string_view("a\0b", 3)), std::string_view("a\0b", 3));
}

// The expected texts are those of the Unicode Standard's table and of Python's decoder with errors="replace".
TEST(Utf8Stream, OneReplacementForEachMaximalPart) {
  const std::string r = "\ufffd";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\x80", r},
      {"a\xffz", "a" + r + "z"},
      {"\xc3", r},
      {"\xc3(", r + "("},
      {"\xc0\xaf", r + r},
      {"\xe0\x80\xaf", r + r + r},
      {"\xe2\x82", r},
      {"\xe2\x82\x41", r + "A"},
      {"\xed\xa0\x80", r + r + r},
      {"\xf0\x9f\x98", r},
      {"\xf0\x9f\x98\xf0\x9f\x98\x80", r + "\U0001f600"},
      {"\xf0\x8f\xbf\xbf", r + r + r + r},
      {"\xf4\x90\x80\x80", r + r + r + r},
      {"\xf5\x80", r + r},
      {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", r + r + r + r + "A"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(Decode(bytes), text) << testing::PrintToString(bytes);
  }
}

TEST(Utf8Stream, PiecesJoinToTheWhole) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same run each time
  const std::string parts[] = {
      "a", "\u00e9", "\u20ac", "\U0001f600", "\x80", "\xe2\x82", "\xf0\x9f", "\xc3"
  };
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (int part = 0; part < 8; ++part) {
      bytes += parts[random() % std::size(parts)];
    }
    Utf8Stream stream;
    std::string joined;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = 1 + random() % 3;
      std::string piece;
      stream.Push(std::string_view(bytes).substr(at, size), piece);
      EXPECT_EQ(Decode(piece), piece) << "a piece that is not whole";
      joined += piece;
      at += size;
    }
    stream.Finish(joined);
    ASSERT_EQ(joined, Decode(bytes)) << testing::PrintToString(bytes);
  }
}

TEST(Utf8Stream, StartsAnewAfterTheEnd) {
  Utf8Stream stream;
  std::string text;
  stream.Push("\xe2\x82", text);
  EXPECT_EQ(text, "");
  stream.Finish(text);
  stream.Push("\xac", text);
  stream.Push("\u20ac", text);
  stream.Finish(text);
  EXPECT_EQ(text, "\ufffd\ufffd\u20ac");
}

}  // namespace
}  // namespace hearth
