// A matrix or vector of weights as it lies in a model file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "contracts/element_type.h"

namespace hearth {

// Shapes:    [rows, columns], columns innermost; a vector has one row. For a linear layer rows are outputs and
//            columns are inputs.
// Ownership: borrows the file's bytes, which outlive it.
// Invariant: data holds exactly rows * columns values; columns is a multiple of the type's block. Whoever
//            makes a view has checked that.
struct WeightView {
  std::string name;  // for messages
  ElementType type;
  std::size_t rows;
  std::size_t columns;
  std::span<const std::byte> data;
};

}  // namespace hearth
