#include "formats/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "support/expect_error.h"
#include "support/gguf_writer.h"

namespace hearth {
namespace {

constexpr std::uint64_t kMax64 = std::numeric_limits<std::uint64_t>::max();

std::vector<std::byte> Zeros(std::size_t count) {
  return std::vector<std::byte>(count);
}

void ExpectRefused(const std::vector<std::byte>& bytes, ErrorCode code, std::string_view part) {
  ExpectError([&] { GgufFile(bytes, "model.gguf"); }, code, part);
}

void ExpectCorrupt(const GgufWriter& writer, std::string_view part) {
  ExpectRefused(writer.Bytes(), ErrorCode::kCorruptData, part);
}

// The bytes with the field of this description set to `value`.
template <typename T>
std::vector<std::byte> With(const GgufWriter& writer, std::string_view what, T value) {
  std::vector<GgufField> fields;
  std::vector<std::byte> bytes = writer.Bytes(&fields);
  for (const GgufField& field : fields) {
    if (field.what == what) {
      EXPECT_EQ(field.bytes, sizeof(T));
      std::memcpy(bytes.data() + field.offset, &value, sizeof(T));
      return bytes;
    }
  }
  ADD_FAILURE() << "no field " << what;
  return bytes;
}

GgufWriter OneTensor() {
  GgufWriter writer;
  writer.String("general.name", "one").FloatTensor("w", {4, 2}, std::vector<float>(8));
  return writer;
}

// Value bytes of an array nested `depth` deep around no numbers.
std::vector<std::byte> Nested(int depth) {
  std::vector<std::byte> bytes;
  const auto put = [&](auto value) {
    const auto raw = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  for (int i = 1; i < depth; ++i) {
    put(std::uint32_t{9});
    put(std::uint64_t{1});
  }
  put(std::uint32_t{4});
  put(std::uint64_t{0});
  return bytes;
}

TEST(Gguf, DescribesTensors) {
  GgufWriter writer(2);
  writer.FloatTensor("a", {3}, std::vector<float>(3));
  writer.Tensor("b", ElementType::kQ4_K, {512, 2, 1, 3}, Zeros(std::size_t{144} * 2 * 6));
  writer.Tensor("c", ElementType::kBF16, {5, 7}, Zeros(70));
  const std::vector<std::byte> bytes = writer.Bytes();
  const GgufFile file(bytes, "f");
  EXPECT_EQ(file.version(), 2u);
  EXPECT_EQ(file.alignment(), 32u);
  ASSERT_EQ(file.tensors().size(), 3u);
  const TensorDescriptor& a = file.tensors()[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type, ElementType::kF32);
  EXPECT_EQ(a.type_number, 0u);
  EXPECT_EQ(a.type_name, "F32");
  EXPECT_EQ(a.dims, std::vector<std::uint64_t>{3});
  EXPECT_EQ(a.byte_size, 12u);
  EXPECT_EQ(a.offset % 32, 0u);
  const TensorDescriptor& b = file.tensors()[1];
  EXPECT_EQ(b.type, ElementType::kQ4_K);
  EXPECT_EQ(b.dims, (std::vector<std::uint64_t>{512, 2, 1, 3}));
  EXPECT_EQ(b.values, 3072u);
  EXPECT_EQ(b.byte_size, 1728u);
  EXPECT_EQ(b.offset, a.offset + 32);
  const TensorDescriptor& c = file.tensors()[2];
  EXPECT_EQ(c.offset + 70, bytes.size());
  EXPECT_EQ(file.BytesOf(c).data(), bytes.data() + c.offset);
  EXPECT_EQ(file.BytesOf(c).size(), 70u);
}

TEST(Gguf, FindsByName) {
  GgufWriter writer;
  writer.Uint32("b", 1).Uint32("c", 2).Uint32("a", 3);
  for (const char* name : {"w.2", "w.10", "w.1"}) {
    writer.FloatTensor(name, {1}, std::vector<float>(1));
  }
  const std::vector<std::byte> bytes = writer.Bytes();
  const GgufFile file(bytes, "f");
  for (const GgufEntry& entry : file.metadata()) {
    EXPECT_EQ(file.Find(entry.key), &entry);
  }
  for (const TensorDescriptor& tensor : file.tensors()) {
    EXPECT_EQ(file.FindTensor(tensor.name), &tensor);
  }
  for (const char* name : {"", "a0", "bb", "d", "w", "w.3"}) {
    EXPECT_EQ(file.Find(name), nullptr) << name;
    EXPECT_EQ(file.FindTensor(name), nullptr) << name;
  }
}

TEST(Gguf, MetadataPointsAtTheStoredValue) {
  const std::vector<std::string> words{"x", "yz"};
  GgufWriter writer;
  writer.Strings("words", words).String("text", "abc").Raw("deep", 9, Nested(4)).Uint16("n", 258);
  const std::vector<std::byte> bytes = writer.Bytes();
  const GgufFile file(bytes, "f");
  ASSERT_EQ(file.metadata().size(), 4u);
  const GgufEntry& array = file.metadata()[0];
  EXPECT_EQ(array.key, "words");
  EXPECT_EQ(array.type, GgufValueType::kArray);
  EXPECT_EQ(array.element_type, GgufValueType::kString);
  EXPECT_EQ(array.count, 2u);
  EXPECT_EQ(array.bytes.size(), 8u + 1 + 8 + 2);
  EXPECT_EQ(array.bytes[8], std::byte{'x'});
  EXPECT_EQ(file.metadata()[1].bytes.size(), 3u);
  EXPECT_EQ(file.metadata()[2].element_type, GgufValueType::kArray);
  EXPECT_EQ(file.metadata()[3].bytes.size(), 2u);
}

TEST(Gguf, AFileWithoutAnythingIsFine) {
  const std::vector<std::byte> bytes = GgufWriter().Bytes();
  ASSERT_GE(bytes.size(), 24u);
  const GgufFile file{std::span<const std::byte>(bytes).first(24), "f"};
  EXPECT_TRUE(file.metadata().empty());
  EXPECT_TRUE(file.tensors().empty());
}

TEST(Gguf, UnknownTensorTypesAreListed) {
  GgufWriter writer;
  writer.Tensor("q5", 13, {256, 2}, Zeros(352));
  writer.Tensor("new", 77, {5}, Zeros(3));
  writer.FloatTensor("after", {1}, std::vector<float>(1));
  const std::vector<std::byte> bytes = writer.Bytes();
  const GgufFile file(bytes, "f");
  const TensorDescriptor& q5 = file.tensors()[0];
  EXPECT_EQ(q5.type, std::nullopt);
  EXPECT_EQ(q5.type_name, "Q5_K");
  EXPECT_EQ(q5.byte_size, 352u);
  const TensorDescriptor& unknown = file.tensors()[1];
  EXPECT_EQ(unknown.type, std::nullopt);
  EXPECT_EQ(unknown.type_number, 77u);
  EXPECT_EQ(unknown.type_name, "type 77");
  EXPECT_EQ(unknown.byte_size, std::nullopt);
  EXPECT_EQ(unknown.values, 5u);
  EXPECT_TRUE(file.BytesOf(unknown).empty());
}

TEST(Gguf, FollowsTheAlignment) {
  GgufWriter writer(3, 128);
  writer.Uint32("general.alignment", 128).FloatTensor("a", {1}, std::vector<float>(1));
  writer.FloatTensor("b", {1}, std::vector<float>(1));
  const std::vector<std::byte> bytes = writer.Bytes();
  const GgufFile file(bytes, "f");
  EXPECT_EQ(file.alignment(), 128u);
  EXPECT_EQ(file.tensors()[0].offset % 128, 0u);
  EXPECT_EQ(file.tensors()[1].offset, file.tensors()[0].offset + 128);
}

TEST(Gguf, RefusesBadAlignment) {
  for (const std::uint32_t alignment : {0u, 1u, 4u, 7u, 24u, 1u << 21, 1u << 31, 0xffffffffu}) {
    GgufWriter writer;
    writer.Uint32("general.alignment", alignment);
    ExpectCorrupt(
        writer,
        "key 'general.alignment' is " + std::to_string(alignment) + ", wanted a power of two"
    );
  }
  ExpectCorrupt(GgufWriter().Uint64("general.alignment", 32), "is uint64, wanted uint32");
  ExpectCorrupt(GgufWriter().String("general.alignment", ""), "is string, wanted uint32");
}

TEST(Gguf, RefusesOtherFiles) {
  ExpectRefused({}, ErrorCode::kCorruptData, "model.gguf: does not start with 'GGUF'");
  ExpectRefused(Zeros(100), ErrorCode::kCorruptData, "does not start with 'GGUF'");
  ExpectRefused(GgufWriter(1).Bytes(), ErrorCode::kUnsupported, "GGUF version 1, wanted 2 or 3");
  ExpectRefused(GgufWriter(4).Bytes(), ErrorCode::kUnsupported, "GGUF version 4, wanted 2 or 3");
  ExpectRefused(GgufWriter(0).Bytes(), ErrorCode::kUnsupported, "GGUF version 0, wanted 2 or 3");
  ExpectRefused(GgufWriter(0x03000000).Bytes(), ErrorCode::kUnsupported, "is big-endian");
}

TEST(Gguf, KnownFault94ZeroDimensionAndEmptyKey) {
  GgufWriter zero;
  zero.FloatTensor("w", {4, 0}, {});
  ExpectCorrupt(zero, "model.gguf: tensor 'w': axis 1 has length 0");
  ExpectCorrupt(GgufWriter().Uint32("a", 1).Uint32("", 1), "model.gguf: metadata key 1 is empty");
  GgufWriter nameless;
  nameless.FloatTensor("", {1}, std::vector<float>(1));
  ExpectCorrupt(nameless, "name of tensor 0 is empty");
}

// 97 and 98 are told of another format; the same faults are possible here.
TEST(Gguf, KnownFault97SizesThatDoNotAgree) {
  GgufWriter cut;
  cut.FloatTensor("w", {1000, 1000}, std::vector<float>(1));
  ExpectCorrupt(cut, "tensor 'w': 4000000 bytes at offset 0, the data section has 4");
  GgufWriter swapped;
  swapped.FloatTensor("a", {8}, std::vector<float>(8)).FloatTensor("b", {8}, std::vector<float>(8));
  ExpectRefused(
      With(swapped, "offset of tensor 'a'", std::uint64_t{64}),
      ErrorCode::kCorruptData,
      "tensor 'a': 32 bytes at offset 64, the data section has 64"
  );
  // In the other order of offsets it is a good file.
  std::vector<std::byte> bytes = With(swapped, "offset of tensor 'a'", std::uint64_t{32});
  ExpectRefused(bytes, ErrorCode::kCorruptData, "overlaps tensor");
  GgufWriter unknown;
  unknown.Tensor("u", 77, {8}, Zeros(1)).FloatTensor("b", {8}, std::vector<float>(8));
  ExpectRefused(
      With(unknown, "offset of tensor 'u'", std::uint64_t{64}),
      ErrorCode::kCorruptData,
      "tensor 'u'"
  );
  ExpectRefused(
      With(unknown, "offset of tensor 'u'", std::uint64_t{32}), ErrorCode::kCorruptData, "overlaps"
  );
}

TEST(Gguf, KnownFault98DuplicateKeyIsNamed) {
  ExpectCorrupt(
      GgufWriter().Uint32("k", 1).Bool("j", true).Uint32("k", 1), "model.gguf: duplicate key 'k'"
  );
  GgufWriter twice;
  twice.FloatTensor("w", {1}, std::vector<float>(1)).FloatTensor("w", {1}, std::vector<float>(1));
  ExpectCorrupt(twice, "duplicate tensor 'w'");
}

TEST(Gguf, OffsetsInAnyOrderAreFine) {
  GgufWriter writer;
  writer.FloatTensor("a", {4}, std::vector<float>{1, 1, 1, 1})
      .FloatTensor("b", {4}, std::vector<float>{2, 2, 2, 2});
  std::vector<std::byte> bytes = With(writer, "offset of tensor 'a'", std::uint64_t{32});
  std::vector<GgufField> fields;
  writer.Bytes(&fields);
  for (const GgufField& field : fields) {
    if (field.what == "offset of tensor 'b'") {
      std::memset(bytes.data() + field.offset, 0, 8);
    }
  }
  const GgufFile file(bytes, "f");
  EXPECT_EQ(file.tensors()[0].offset, file.tensors()[1].offset + 32);
}

TEST(Gguf, RefusesBadTensors) {
  const GgufWriter writer = OneTensor();
  const auto refused = [&](std::string_view what, auto value, std::string_view part) {
    ExpectRefused(With(writer, what, value), ErrorCode::kCorruptData, part);
  };
  refused("offset of tensor 'w'", std::uint64_t{1}, "tensor 'w': offset 1 is not a multiple of 32");
  refused("offset of tensor 'w'", kMax64 - 31, "the data section has 32");
  refused(
      "offset of tensor 'w'", std::uint64_t{32}, "32 bytes at offset 32, the data section has 32"
  );
  refused("axes of tensor 'w'", 0u, "0 axes, wanted 1 to 4");
  refused("axes of tensor 'w'", 5u, "5 axes, wanted 1 to 4");
  refused("axis of tensor 'w'", kMax64, "overflows the number of values");
  refused("axis of tensor 'w'", kMax64 / 2, "values overflow the number of bytes");
  refused("axis of tensor 'w'", kMax64 / 8, "the data section has 32");
  refused("type of tensor 'w'", 2u, "rows of 4 values, wanted a multiple of 32 for Q4_0");
}

TEST(Gguf, RefusesBadValues) {
  GgufWriter flag;
  flag.Bool("b", true);
  ExpectRefused(
      With(flag, "value of key 'b'", std::uint8_t{2}),
      ErrorCode::kCorruptData,
      "key 'b': a bool is 2"
  );
  ExpectRefused(
      With(flag, "type of key 'b'", 13u),
      ErrorCode::kCorruptData,
      "key 'b': value type 13, wanted 0 to 12"
  );
  ExpectCorrupt(
      GgufWriter().Bools("bs", std::vector<std::uint8_t>{0, 1, 255}), "key 'bs': a bool is 255"
  );
  GgufWriter ints;
  ints.Ints("is", std::vector<std::int32_t>{1, 2});
  ExpectRefused(
      With(ints, "element type of key 'is'", 99u),
      ErrorCode::kCorruptData,
      "key 'is': value type 99"
  );
  ExpectRefused(
      With(ints, "count of key 'is'", std::uint64_t{1000}),
      ErrorCode::kCorruptData,
      "key 'is': wants 4000 bytes at byte"
  );
}

TEST(Gguf, RefusesWhatPassesALimit) {
  const GgufWriter writer = OneTensor();
  const auto refused = [&](std::string_view what, std::uint64_t value, std::string_view part) {
    ExpectRefused(With(writer, what, value), ErrorCode::kResourceExhausted, part);
  };
  refused("count of tensors", kMaxGgufTensors + 1, "131073 tensors, the limit is 131072");
  refused(
      "count of metadata entries",
      kMaxGgufMetadataEntries + 1,
      "65537 metadata entries, the limit is 65536"
  );
  refused("length of key 'general.name'", kMaxGgufKeyBytes + 1, "65536 bytes, the limit is 65535");
  refused("length of tensor 'w'", kMaxGgufTensorNameBytes + 1, "256 bytes, the limit is 255");
  GgufWriter text;
  text.Strings("s", std::vector<std::string>{"x"});
  const auto refused_text = [&](std::string_view what, std::uint64_t value, std::string_view part) {
    ExpectRefused(With(text, what, value), ErrorCode::kResourceExhausted, part);
  };
  refused_text(
      "count of key 's'", kMaxGgufArrayElements + 1, "16777217 elements, the limit is 16777216"
  );
  refused_text(
      "length of element 0 of key 's'",
      kMaxGgufStringBytes + 1,
      "16777217 bytes, the limit is 16777216"
  );
  GgufWriter deep;
  deep.Raw("deep", 9, Nested(5));
  ExpectRefused(
      deep.Bytes(), ErrorCode::kResourceExhausted, "key 'deep': arrays nest deeper than 4"
  );
}

TEST(Gguf, RefusesCountsThatCannotFitBeforeAskingForMemory) {
  ExpectRefused(
      With(OneTensor(), "count of tensors", kMaxGgufTensors),
      ErrorCode::kCorruptData,
      "1 metadata entries and 131072 tensors do not fit"
  );
  ExpectRefused(
      With(OneTensor(), "count of metadata entries", kMaxGgufMetadataEntries),
      ErrorCode::kCorruptData,
      "do not fit"
  );
}

TEST(Gguf, MessagesShowBytesFromTheFileSafely) {
  const std::string key = "line\nbreak\xff";
  ExpectCorrupt(GgufWriter().Uint32(key, 1).Uint32(key, 2), "duplicate key 'line\\x0abreak\\xff'");
  ExpectCorrupt(
      GgufWriter().Uint32(std::string(300, 'k'), 1).Uint32(std::string(300, 'k'), 2),
      std::string(80, 'k') + "...'"
  );
}

// Far more than a quadratic search could do within the test's time.
TEST(Gguf, ManyEntriesTensorsAndStringsAreReadInOnePass) {
  GgufWriter writer;
  for (std::uint32_t i = 0; i < 60000; ++i) {
    writer.Uint32("key." + std::to_string(i * 7919 % 60000), i);
  }
  std::vector<std::string> words(400000);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = "word" + std::to_string(i);
  }
  writer.Strings("words", words);
  const std::vector<std::byte> bytes = writer.Bytes();
  const GgufFile file(bytes, "f");
  EXPECT_EQ(file.Find("words")->count, 400000u);
  EXPECT_NE(file.Find("key.59999"), nullptr);
}

}  // namespace
}  // namespace hearth
