#include "support/npz.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include "hearth/error.h"

namespace hearth {
namespace {

std::filesystem::path DataFile(const char* name) {
  return std::filesystem::path(HEARTH_SOURCE_DIR) / "tests/support/data" / name;
}

template <typename Call>
ErrorCode CodeOf(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

using Shape = std::vector<std::size_t>;

TEST(Npz, ReadsEveryElementType) {
  const Npz npz = ReadNpz(DataFile("small.npz"));
  EXPECT_EQ(npz.arrays().size(), 7u);
  const NpyArray& floats = npz.at("f32");
  EXPECT_EQ(floats.shape(), (Shape{2, 3}));
  const auto values = floats.values<float>();
  ASSERT_EQ(values.size(), 6u);
  EXPECT_EQ(values[0], 1.5f);
  EXPECT_TRUE(values[1] == 0.0f && std::signbit(values[1]));
  EXPECT_EQ(values[2], std::numeric_limits<float>::infinity());
  EXPECT_EQ(values[5], -7.25f);
  EXPECT_EQ(npz.at("i64").values<std::int64_t>()[0], -5000000000);
  EXPECT_EQ(npz.at("u8").values<std::uint8_t>()[1], 255);
  EXPECT_EQ(npz.at("u16").values<std::uint16_t>()[0], 65535);
  EXPECT_EQ(npz.at("u32").values<std::uint32_t>()[0], 4294967295u);
}

TEST(Npz, TurnsFortranOrderRound) {
  const Npz npz = ReadNpz(DataFile("small.npz"));
  const NpyArray& array = npz.at("fortran");
  EXPECT_EQ(array.shape(), (Shape{2, 3, 4}));
  const auto values = array.values<std::int32_t>();
  ASSERT_EQ(values.size(), 24u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], static_cast<std::int32_t>(i));
  }
}

TEST(Npz, ScalarsAndEmptyArrays) {
  const Npz npz = ReadNpz(DataFile("small.npz"));
  EXPECT_EQ(npz.at("i64").shape(), Shape{});
  EXPECT_EQ(npz.at("i64").size(), 1u);
  EXPECT_EQ(npz.at("empty").shape(), (Shape{0, 3}));
  EXPECT_EQ(npz.at("empty").size(), 0u);
}

TEST(Npz, SaysWhatIsWrong) {
  const Npz npz = ReadNpz(DataFile("small.npz"));
  EXPECT_TRUE(npz.Has("f32"));
  EXPECT_FALSE(npz.Has("f33"));
  EXPECT_EQ(CodeOf([&] { npz.at("f33"); }), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([&] { npz.at("f32").values<std::int32_t>(); }), ErrorCode::kInvalidArgument);
  EXPECT_EQ(CodeOf([] { ReadNpz(DataFile("compressed.npz")); }), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf([] { ReadNpz(DataFile("unsupported.npz")); }), ErrorCode::kUnsupported);
  EXPECT_EQ(CodeOf([] { ReadNpz(DataFile("none.npz")); }), ErrorCode::kNotFound);
  EXPECT_EQ(CodeOf([] { ReadNpz(DataFile("single.npy")); }), ErrorCode::kCorruptData);
}

std::vector<std::byte> BytesOf(const char* name) {
  std::ifstream file(DataFile(name), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

TEST(Npz, ACutFileIsAnError) {
  const std::vector<std::byte> whole = BytesOf("small.npz");
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    // A copy of exactly this size, so that a read past it is seen by the sanitizer.
    const std::vector<std::byte> bytes(
        whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)
    );
    EXPECT_EQ(CodeOf([&] { ParseNpz(bytes, "cut"); }), ErrorCode::kCorruptData) << kept;
  }
}

TEST(Npz, ABrokenByteIsAnErrorOrHarmless) {
  std::vector<std::byte> bytes = BytesOf("small.npz");
  std::size_t refused = 0;
  for (std::byte& byte : bytes) {
    const std::byte old = byte;
    byte = std::byte{0xff};
    try {
      ParseNpz(bytes, "broken");
    } catch (const Error&) {
      ++refused;
    }
    byte = old;
  }
  // Of the directory alone, more than ten fields an array must hold.
  EXPECT_GT(refused, 70u);
}

TEST(Npy, ACutFileIsAnError) {
  const std::vector<std::byte> whole = BytesOf("single.npy");
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    const std::vector<std::byte> bytes(
        whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept)
    );
    EXPECT_EQ(CodeOf([&] { ParseNpy(bytes, "cut"); }), ErrorCode::kCorruptData) << kept;
  }
}

TEST(Npy, ReadsASingleArray) {
  const NpyArray array = ReadNpy(DataFile("single.npy"));
  EXPECT_EQ(array.name(), "single");
  const auto values = array.values<std::int32_t>();
  EXPECT_EQ(
      std::vector<std::int32_t>(values.begin(), values.end()), (std::vector<std::int32_t>{3, 1, 2})
  );
}

}  // namespace
}  // namespace hearth
