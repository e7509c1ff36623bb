#include "server/http/chunk_line.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth {
namespace {

TEST(ChunkLine, EveryBeginningOfARightOneMayBeOne) {
  for (const std::string line : {"5\r\nhello", "0aF;a=b; c = d\t\r\n", "1 ;a\r\n", "0\r\n\r\n"}) {
    for (std::size_t bytes = 0; bytes <= line.size(); ++bytes) {
      EXPECT_TRUE(MayBeChunkLine(line.substr(0, bytes), false)) << line.substr(0, bytes);
      const std::string following = "\r\n" + line;
      EXPECT_TRUE(MayBeChunkLine(following.substr(0, bytes), true)) << line.substr(0, bytes);
    }
  }
}

TEST(ChunkLine, RefusesAtTheFirstWrongByte) {
  for (const char* wrong :
       {"\r",
        "g",
        " 5",
        "-",
        "+5",
        "5x",
        "5\n",
        "5\rx",
        "5;a\n",
        "5;a=\"",
        "5;\x01",
        "5;\x7f",
        ";a",
        "0x",
        "5,"}) {
    EXPECT_FALSE(MayBeChunkLine(wrong, false)) << wrong;
  }
  for (const char* wrong : {"5", "\n5", "\r5", "\r\n\r", "x\r\n5\r\n"}) {
    EXPECT_FALSE(MayBeChunkLine(wrong, true)) << wrong;
  }
}

}  // namespace
}  // namespace hearth
