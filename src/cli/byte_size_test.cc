#include "cli/byte_size.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace hearth {
namespace {

TEST(ByteSize, Units) {
  EXPECT_EQ(ParseByteSize("1", "size"), 1u);
  EXPECT_EQ(ParseByteSize("1048576", "size"), 1048576u);
  EXPECT_EQ(ParseByteSize("3B", "size"), 3u);
  EXPECT_EQ(ParseByteSize("512M", "size"), std::size_t{512} << 20);
  EXPECT_EQ(ParseByteSize("4G", "size"), std::size_t{4} << 30);
  EXPECT_EQ(ParseByteSize("1.5GiB", "size"), std::size_t{3} << 29);
  EXPECT_EQ(ParseByteSize("1.5 gib", "size"), std::size_t{3} << 29);
  EXPECT_EQ(ParseByteSize("7k", "size"), 7u * 1024);
  EXPECT_EQ(ParseByteSize("2T", "size"), std::size_t{2} << 40);
  EXPECT_EQ(ParseByteSize("800MB", "size"), 800'000'000u);
  EXPECT_EQ(ParseByteSize("0.5kB", "size"), 500u);
  EXPECT_EQ(ParseByteSize("2TB", "size"), 2'000'000'000'000u);
  EXPECT_EQ(ParseByteSize("1.9", "size"), 1u);
}

TEST(ByteSize, WhatIsNoSizeIsRefused) {
  for (const std::string_view text :
       {"",        " ",    "M",   "-1M", "+1",       "0",    "0.4",
        "1e9",     "0x10", "nan", "inf", "infinity", "1,5G", "4 GG",
        "4GiBs",   "4  G", "4iB", "1P",  " 1M",      "1M ",  "99999999999999999999",
        "1048576T"}) {
    ExpectError([&] { ParseByteSize(text, "size"); }, ErrorCode::kInvalidArgument, "size: got");
  }
  ExpectError([] { ParseByteSize("4\nG", "size"); }, ErrorCode::kInvalidArgument, "wanted");
}

TEST(ByteSize, Shown) {
  EXPECT_EQ(FormatByteSize(0), "0 kB");
  EXPECT_EQ(FormatByteSize(712'300), "712 kB");
  EXPECT_EQ(FormatByteSize(999'600), "1.0 MB");
  EXPECT_EQ(FormatByteSize(138'240'000), "138.2 MB");
  EXPECT_EQ(FormatByteSize(23'940'000'000), "23.94 GB");
}

}  // namespace
}  // namespace hearth
