// Rows rounded to bfloat16, with the memory that holds them.
#pragma once

#include <span>
#include <vector>

#include "forms/form_kernels.h"
#include "platform/aligned_buffer.h"

namespace hearth::forms {

// Ownership: owns the copies. Errors: std::bad_alloc.
class FormRowsBuffer {
 public:
  // x [rows, 32 * groups], without gaps.
  FormRowsBuffer(std::span<const float> x, std::size_t rows, std::size_t groups);

  // Valid while this lives.
  FormRows View() const {
    return {values_.data(), stride_, tiles_.data(), sums_.data(), rows_, groups_};
  }

 private:
  std::size_t rows_;
  std::size_t groups_;
  std::size_t stride_;
  AlignedBuffer<float> values_;
  AlignedBuffer<std::uint16_t> tiles_;
  AlignedBuffer<float> sums_;
};

}  // namespace hearth::forms
