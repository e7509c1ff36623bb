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
    {"F32", {1, 4}, 0, ElementType::kF32},
    {"F16", {1, 2}, 1, ElementType::kF16},
    {"Q4_0", {32, 18}, 2, ElementType::kQ4_0},
    {"Q4_1", {32, 20}, 3, ElementType::kQ4_1},
    {"Q5_0", {32, 22}, 6, {}},
    {"Q5_1", {32, 24}, 7, {}},
    {"Q8_0", {32, 34}, 8, ElementType::kQ8_0},
    {"Q8_1", {32, 36}, 9, {}},
    {"Q2_K", {256, 84}, 10, {}},
    {"Q3_K", {256, 110}, 11, {}},
    {"Q4_K", {256, 144}, 12, ElementType::kQ4_K},
    {"Q5_K", {256, 176}, 13, {}},
    {"Q6_K", {256, 210}, 14, ElementType::kQ6_K},
    {"Q8_K", {256, 292}, 15, {}},
    {"IQ2_XXS", {256, 66}, 16, {}},
    {"IQ2_XS", {256, 74}, 17, {}},
    {"IQ3_XXS", {256, 98}, 18, {}},
    {"IQ1_S", {256, 50}, 19, {}},
    {"IQ4_NL", {32, 18}, 20, {}},
    {"IQ3_S", {256, 110}, 21, {}},
    {"IQ2_S", {256, 82}, 22, {}},
    {"IQ4_XS", {256, 136}, 23, {}},
    {"I8", {1, 1}, 24, {}},
    {"I16", {1, 2}, 25, {}},
    {"I32", {1, 4}, 26, {}},
    {"I64", {1, 8}, 27, {}},
    {"F64", {1, 8}, 28, {}},
    {"IQ1_M", {256, 56}, 29, {}},
    {"BF16", {1, 2}, 30, ElementType::kBF16},
    {"TQ1_0", {256, 54}, 34, {}},
    {"TQ2_0", {256, 66}, 35, {}},
    {"MXFP4", {32, 17}, 39, {}},
    {"NVFP4", {64, 36}, 40, {}},
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
