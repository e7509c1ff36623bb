// Where a tensor lies in a model file and how it is stored. A value; no bytes, no arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "contracts/element_type.h"

namespace hearth {

struct TensorDescriptor {
  std::string name;                 // bytes as in the file: show through Printable
  std::optional<ElementType> type;  // none: a type that hearth lists but cannot compute with
  std::uint32_t type_number = 0;    // the file format's own number
  std::string type_name;            // "Q4_K", "Q5_K", or "type 77" when nobody knows it
  std::vector<std::uint64_t>
      dims;  // [1..4 axes], innermost first: dims[0] is the length of a row; none is 0
  std::uint64_t values = 0;              // product of dims
  std::size_t offset = 0;                // of the first byte, from the start of the file
  std::optional<std::size_t> byte_size;  // none when the type's layout is unknown
};

}  // namespace hearth
