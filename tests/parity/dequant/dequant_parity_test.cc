// Every block of the fixture, bit by bit, and the sizes that the reader of model files believes in.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "formats/gguf_types.h"
#include "kernels/dequantize.h"
#include "support/fixtures.h"
#include "support/npz.h"

namespace hearth {

// How GoogleTest shows a type; found beside the type.
static void PrintTo(ElementType type, std::ostream* out) {
  *out << ElementTypeName(type);
}

namespace {

constexpr ElementType kRecordedTypes[] = {
    ElementType::kF16,
    ElementType::kBF16,
    ElementType::kQ4_0,
    ElementType::kQ4_1,
    ElementType::kQ8_0,
    ElementType::kQ4_K,
    ElementType::kQ6_K,
};

class Dequant : public ::testing::TestWithParam<ElementType> {};

TEST_P(Dequant, EqualsTheReferenceInEveryBit) {
  const std::string name(ElementTypeName(GetParam()));
  const Npz blocks = ReadNpz(FixtureDir("dequant") / "gguf_blocks.npz");
  const NpyArray& stored = blocks.at(name + "_bytes");
  const auto expected = blocks.at(name + "_f32").values<float>();
  const BlockLayout layout = LayoutOf(GetParam());
  ASSERT_EQ(stored.size() % layout.bytes, 0u);
  ASSERT_EQ(stored.size() / layout.bytes * layout.values, expected.size());
  ASSERT_FALSE(expected.empty());

  std::vector<float> values(expected.size());
  const auto bytes = std::as_bytes(stored.values<std::uint8_t>());
  DequantizeRow(GetParam(), bytes.data(), values.size(), values.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << name << " value " << i << ": " << values[i] << ", wanted " << expected[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types,
    Dequant,
    ::testing::ValuesIn(kRecordedTypes),
    [](const ::testing::TestParamInfo<ElementType>& type) {
      return std::string(ElementTypeName(type.param));
    }
);

TEST(DequantTypes, SizesOfAllRecordedTypes) {
  const nlohmann::json types = LoadJson(FixtureDir("dequant") / "gguf_blocks.json");
  std::size_t compared = 0;
  for (const auto& [name, recorded] : types.items()) {
    if (!recorded.is_object()) {
      continue;  // a type that the reference does not read
    }
    const GgufTensorType* type = FindGgufTensorType(recorded["type_id"].get<std::uint32_t>());
    ASSERT_NE(type, nullptr) << name;
    EXPECT_EQ(type->name, name);
    EXPECT_EQ(type->layout.values, recorded["block_values"].get<std::size_t>()) << name;
    EXPECT_EQ(type->layout.bytes, recorded["block_bytes"].get<std::size_t>()) << name;
    if (type->type) {
      EXPECT_EQ(ElementTypeName(*type->type), name);
      EXPECT_EQ(LayoutOf(*type->type).values, type->layout.values) << name;
      EXPECT_EQ(LayoutOf(*type->type).bytes, type->layout.bytes) << name;
    }
    ++compared;
  }
  if (UsesBuiltInFixtures()) {
    EXPECT_EQ(compared, 25u);
  }
}

}  // namespace
}  // namespace hearth
