#include "formats/gguf_types.h"

namespace hearth {
namespace {

struct ValueRow {
  GgufValueType type;
  std::string_view name;
  std::size_t bytes;
};

constexpr ValueRow kValueTypes[] = {
    {GgufValueType::kUint8, "uint8", 1},
    {GgufValueType::kInt8, "int8", 1},
    {GgufValueType::kUint16, "uint16", 2},
    {GgufValueType::kInt16, "int16", 2},
    {GgufValueType::kUint32, "uint32", 4},
    {GgufValueType::kInt32, "int32", 4},
    {GgufValueType::kFloat32, "float32", 4},
    {GgufValueType::kBool, "bool", 1},
    {GgufValueType::kString, "string", 0},
    {GgufValueType::kArray, "array", 0},
    {GgufValueType::kUint64, "uint64", 8},
    {GgufValueType::kInt64, "int64", 8},
    {GgufValueType::kFloat64, "float64", 8},
};

constexpr GgufTensorType kTensorTypes[] = {
    {0, "F32", {1, 4}, ElementType::kF32},
    {1, "F16", {1, 2}, ElementType::kF16},
    {2, "Q4_0", {32, 18}, ElementType::kQ4_0},
    {3, "Q4_1", {32, 20}, ElementType::kQ4_1},
    {6, "Q5_0", {32, 22}, {}},
    {7, "Q5_1", {32, 24}, {}},
    {8, "Q8_0", {32, 34}, ElementType::kQ8_0},
    {9, "Q8_1", {32, 36}, {}},
    {10, "Q2_K", {256, 84}, {}},
    {11, "Q3_K", {256, 110}, {}},
    {12, "Q4_K", {256, 144}, ElementType::kQ4_K},
    {13, "Q5_K", {256, 176}, {}},
    {14, "Q6_K", {256, 210}, ElementType::kQ6_K},
    {15, "Q8_K", {256, 292}, {}},
    {16, "IQ2_XXS", {256, 66}, {}},
    {17, "IQ2_XS", {256, 74}, {}},
    {18, "IQ3_XXS", {256, 98}, {}},
    {19, "IQ1_S", {256, 50}, {}},
    {20, "IQ4_NL", {32, 18}, {}},
    {21, "IQ3_S", {256, 110}, {}},
    {22, "IQ2_S", {256, 82}, {}},
    {23, "IQ4_XS", {256, 136}, {}},
    {24, "I8", {1, 1}, {}},
    {25, "I16", {1, 2}, {}},
    {26, "I32", {1, 4}, {}},
    {27, "I64", {1, 8}, {}},
    {28, "F64", {1, 8}, {}},
    {29, "IQ1_M", {256, 56}, {}},
    {30, "BF16", {1, 2}, ElementType::kBF16},
    {34, "TQ1_0", {256, 54}, {}},
    {35, "TQ2_0", {256, 66}, {}},
    {39, "MXFP4", {32, 17}, {}},
    {40, "NVFP4", {64, 36}, {}},
};

const ValueRow* FindValueType(std::uint32_t number) {
  for (const ValueRow& row : kValueTypes) {
    if (static_cast<std::uint32_t>(row.type) == number) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace

std::optional<GgufValueType> GgufValueTypeOf(std::uint32_t number) {
  const ValueRow* row = FindValueType(number);
  return row == nullptr ? std::nullopt : std::optional(row->type);
}

std::string_view GgufValueTypeName(GgufValueType type) {
  const ValueRow* row = FindValueType(static_cast<std::uint32_t>(type));
  return row == nullptr ? "unknown" : row->name;
}

std::size_t GgufValueBytes(GgufValueType type) {
  const ValueRow* row = FindValueType(static_cast<std::uint32_t>(type));
  return row == nullptr ? 0 : row->bytes;
}

const GgufTensorType* FindGgufTensorType(std::uint32_t number) {
  for (const GgufTensorType& row : kTensorTypes) {
    if (row.number == number) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace hearth
