#include "support/gguf_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include "formats/gguf_metadata.h"

namespace hearth {
namespace {

template <typename T>
T At(const std::vector<std::byte>& bytes, const GgufField& field) {
  EXPECT_EQ(field.bytes, sizeof(T)) << field.what;
  T value{};
  std::memcpy(&value, bytes.data() + field.offset, sizeof(T));
  return value;
}

TEST(GgufWriter, TheReaderGetsBackWhatWasWritten) {
  const std::vector<std::string> words{"a", "", "\xff\xfe", "longer text"};
  const std::vector<float> floats{1.5f, -2.0f};
  const std::vector<std::int32_t> ints{-1, 7};
  GgufWriter writer;
  writer.Uint8("u8", 200).Int8("i8", 100).Uint16("u16", 60000).Int16("i16", 30000);
  writer.Uint32("u32", 4000000000u)
      .Int32("i32", 2000000000)
      .Uint64("u64", std::numeric_limits<std::uint64_t>::max());
  writer.Int64("i64", 5000000000)
      .Float32("f32", 0.5f)
      .Float64("f64", 0.1)
      .Bool("yes", true)
      .Bool("no", false);
  writer.String("text", "some text")
      .Strings("words", words)
      .Floats("floats", floats)
      .Ints("ints", ints);
  writer.FloatTensor("first", {2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
  writer.Tensor("second", ElementType::kQ8_0, {32}, std::vector<std::byte>(34, std::byte{7}));
  const std::vector<std::byte> bytes = writer.Bytes();
  const GgufFile file(bytes, "written");

  EXPECT_EQ(FindUnsigned(file, "u8"), 200u);
  EXPECT_EQ(FindUnsigned(file, "i8"), 100u);
  EXPECT_EQ(FindUnsigned(file, "u16"), 60000u);
  EXPECT_EQ(FindUnsigned(file, "i16"), 30000u);
  EXPECT_EQ(FindUnsigned(file, "u32"), 4000000000u);
  EXPECT_EQ(FindUnsigned(file, "i32"), 2000000000u);
  EXPECT_EQ(FindUnsigned(file, "u64"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(FindUnsigned(file, "i64"), 5000000000u);
  EXPECT_EQ(FindFloat(file, "f32"), 0.5);
  EXPECT_EQ(FindFloat(file, "f64"), 0.1);
  EXPECT_EQ(FindBool(file, "yes"), true);
  EXPECT_EQ(FindBool(file, "no"), false);
  EXPECT_EQ(FindString(file, "text"), "some text");
  EXPECT_EQ(FindStrings(file, "words"), words);
  EXPECT_EQ(FindFloats(file, "floats"), floats);
  EXPECT_EQ(FindIntegers(file, "ints"), (std::vector<std::int64_t>{-1, 7}));

  ASSERT_EQ(file.tensors().size(), 2u);
  float values[6];
  ASSERT_EQ(file.BytesOf(file.tensors()[0]).size(), sizeof(values));
  std::memcpy(values, file.BytesOf(file.tensors()[0]).data(), sizeof(values));
  EXPECT_EQ(values[5], 5.0f);
  EXPECT_EQ(file.BytesOf(file.tensors()[1])[33], std::byte{7});
}

TEST(GgufWriter, FieldsPointAtTheNumbers) {
  GgufWriter writer(3, 64);
  writer.Uint32("general.alignment", 64)
      .String("name", "tiny")
      .FloatTensor("t", {2}, std::vector<float>{1, 2});
  writer.FloatTensor("u", {1}, std::vector<float>{3});
  std::vector<GgufField> fields;
  const std::vector<std::byte> bytes = writer.Bytes(&fields);
  std::size_t seen = 0;
  for (const GgufField& field : fields) {
    ASSERT_LE(field.offset + field.bytes, bytes.size()) << field.what;
    const std::string& what = field.what;
    if (what == "version") {
      EXPECT_EQ(At<std::uint32_t>(bytes, field), 3u);
    } else if (what == "count of tensors" || what == "count of metadata entries") {
      EXPECT_EQ(At<std::uint64_t>(bytes, field), 2u);
    } else if (what == "value of key 'general.alignment'") {
      EXPECT_EQ(At<std::uint32_t>(bytes, field), 64u);
    } else if (what == "length of key 'name'") {
      EXPECT_EQ(At<std::uint64_t>(bytes, field), 4u);  // of the key and of its value
    } else if (what == "offset of tensor 'u'") {
      EXPECT_EQ(At<std::uint64_t>(bytes, field), 64u);
    } else if (what == "axis of tensor 't'") {
      EXPECT_EQ(At<std::uint64_t>(bytes, field), 2u);
    } else {
      continue;
    }
    ++seen;
  }
  EXPECT_EQ(seen, 8u);
}

TEST(GgufWriter, WritesToAFile) {
  GgufWriter writer;
  writer.Bool("b", true);
  const auto path =
      std::filesystem::path(::testing::TempDir()) / ("writer" + std::to_string(getpid()) + ".gguf");
  writer.WriteTo(path);
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::vector<std::byte> bytes = writer.Bytes();
  ASSERT_EQ(text.size(), bytes.size());
  EXPECT_EQ(std::memcmp(text.data(), bytes.data(), bytes.size()), 0);
  std::filesystem::remove(path);
  EXPECT_THROW(writer.WriteTo("/no/such/folder/x.gguf"), std::runtime_error);
}

}  // namespace
}  // namespace hearth
