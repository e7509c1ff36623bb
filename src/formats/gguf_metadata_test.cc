#include "formats/gguf_metadata.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "support/expect_error.h"
#include "support/gguf_writer.h"

namespace hearth {
namespace {

class GgufMetadataTest : public ::testing::Test {
 protected:
  GgufMetadataTest() {
    writer_.Uint32("uint", 7).Int32("negative", -3).String("text", "abc").Bool("flag", true);
    writer_.Float32("nan", std::numeric_limits<float>::quiet_NaN());
    writer_.Float64("inf", std::numeric_limits<double>::infinity()).Float32("half", 0.5f);
    writer_.Strings("strings", std::vector<std::string>{"a", "b"})
        .Floats("floats", std::vector<float>{1});
    writer_.Ints("ints", std::vector<std::int32_t>{-5, 5});
    const std::vector<std::byte> no_numbers(12);
    writer_.Raw("no_numbers", 9, no_numbers);
    bytes_ = writer_.Bytes();
  }

  GgufFile File() const { return GgufFile(bytes_, "m.gguf"); }

  GgufWriter writer_;
  std::vector<std::byte> bytes_;
};

void ExpectMessage(const std::function<void()>& call, std::string_view message) {
  ExpectError(call, ErrorCode::kCorruptData, message);
}

TEST_F(GgufMetadataTest, AMissingKeyIsNoneOrAnError) {
  const GgufFile file = File();
  EXPECT_EQ(FindUnsigned(file, "none"), std::nullopt);
  EXPECT_EQ(FindFloat(file, "none"), std::nullopt);
  EXPECT_EQ(FindBool(file, "none"), std::nullopt);
  EXPECT_EQ(FindString(file, "none"), std::nullopt);
  EXPECT_EQ(FindStrings(file, "none"), std::nullopt);
  EXPECT_EQ(FindFloats(file, "none"), std::nullopt);
  EXPECT_EQ(FindIntegers(file, "none"), std::nullopt);
  EXPECT_EQ(FindArrayLength(file, "none"), std::nullopt);
  ExpectMessage([&] { RequireUnsigned(file, "none"); }, "m.gguf: key 'none' is missing");
  ExpectMessage([&] { RequireString(file, "none"); }, "m.gguf: key 'none' is missing");
  ExpectMessage([&] { RequireStrings(file, "none"); }, "m.gguf: key 'none' is missing");
}

TEST_F(GgufMetadataTest, AnotherTypeIsAnError) {
  const GgufFile file = File();
  ExpectMessage(
      [&] { FindUnsigned(file, "text"); },
      "m.gguf: key 'text' is string, wanted an unsigned integer"
  );
  ExpectMessage([&] { FindUnsigned(file, "flag"); }, "is bool, wanted an unsigned integer");
  ExpectMessage(
      [&] { FindUnsigned(file, "ints"); }, "is array of int32, wanted an unsigned integer"
  );
  ExpectMessage([&] { FindFloat(file, "uint"); }, "is uint32, wanted a float");
  ExpectMessage([&] { FindBool(file, "uint"); }, "is uint32, wanted a bool");
  ExpectMessage([&] { FindString(file, "strings"); }, "is array of string, wanted a string");
  ExpectMessage([&] { FindStrings(file, "text"); }, "is string, wanted an array of strings");
  ExpectMessage(
      [&] { FindStrings(file, "ints"); }, "is array of int32, wanted an array of strings"
  );
  ExpectMessage([&] { FindFloats(file, "ints"); }, "is array of int32, wanted an array of float32");
  ExpectMessage([&] { FindFloats(file, "half"); }, "is float32, wanted an array of float32");
  ExpectMessage([&] { FindIntegers(file, "uint"); }, "is uint32, wanted an array of integers");
  ExpectMessage(
      [&] { FindIntegers(file, "floats"); }, "is array of float32, wanted an array of integers"
  );
  ExpectMessage([&] { FindArrayLength(file, "text"); }, "is string, wanted an array");
}

TEST_F(GgufMetadataTest, NumbersHaveBounds) {
  const GgufFile file = File();
  EXPECT_EQ(RequireUnsigned(file, "uint", {7, 7}), 7u);
  ExpectMessage([&] { RequireUnsigned(file, "uint", {8, 10}); }, "key 'uint' is 7, wanted 8 to 10");
  ExpectMessage([&] { RequireUnsigned(file, "uint", {1, 6}); }, "key 'uint' is 7, wanted 1 to 6");
  ExpectMessage(
      [&] { RequireUnsigned(file, "negative", {0, 9}); }, "key 'negative' is -3, wanted 0 to 9"
  );
  ExpectMessage([&] { FindFloat(file, "nan"); }, "wanted a finite number");
  ExpectMessage([&] { FindFloat(file, "inf"); }, "is inf, wanted a finite number");
  EXPECT_EQ(FindFloat(file, "half"), 0.5);
}

TEST_F(GgufMetadataTest, ReadsArrays) {
  const GgufFile file = File();
  EXPECT_EQ(RequireStrings(file, "strings"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(FindFloats(file, "floats"), std::vector<float>{1});
  EXPECT_EQ(FindIntegers(file, "ints"), (std::vector<std::int64_t>{-5, 5}));
  EXPECT_EQ(FindIntegers(file, "no_numbers"), std::vector<std::int64_t>{});
  EXPECT_EQ(FindArrayLength(file, "strings"), 2u);
}

TEST_F(GgufMetadataTest, AFileThatChangesUnderTheReaderIsAnError) {
  const GgufFile file = File();
  const std::size_t at =
      static_cast<std::size_t>(file.Find("strings")->bytes.data() - bytes_.data());
  bytes_[at + 6] = std::byte{0xff};
  ExpectMessage([&] { FindStrings(file, "strings"); }, "key 'strings' changed while it was read");
}

}  // namespace
}  // namespace hearth
