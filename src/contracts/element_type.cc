#include "contracts/element_type.h"

namespace hearth {

BlockLayout LayoutOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return {1, 4};
    case ElementType::kF16:
    case ElementType::kBF16:
      return {1, 2};
    case ElementType::kQ4_0:
      return {32, 18};
    case ElementType::kQ4_1:
      return {32, 20};
    case ElementType::kQ8_0:
      return {32, 34};
    case ElementType::kQ4_K:
      return {256, 144};
    case ElementType::kQ6_K:
      return {256, 210};
  }
  return {1, 1};
}

std::string_view ElementTypeName(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "F32";
    case ElementType::kF16:
      return "F16";
    case ElementType::kBF16:
      return "BF16";
    case ElementType::kQ4_0:
      return "Q4_0";
    case ElementType::kQ4_1:
      return "Q4_1";
    case ElementType::kQ8_0:
      return "Q8_0";
    case ElementType::kQ4_K:
      return "Q4_K";
    case ElementType::kQ6_K:
      return "Q6_K";
  }
  return "unknown";
}

}  // namespace hearth
