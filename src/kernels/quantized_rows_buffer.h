// Memory for quantized rows with the slack that tiles need. Not for files of one instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantize_rows.h"
#include "platform/aligned_buffer.h"

namespace hearth {

// Ownership: owns the arrays; views are valid until the next Reserve.
// Threads:   none of its own.
// Errors:    std::bad_alloc.
class QuantizedRowsBuffer {
 public:
  // Makes room for `rows` rows of `groups` groups; keeps the memory when it suffices.
  void Reserve(std::size_t rows, std::size_t groups) {
    rows_ = rows;
    groups_ = groups;
    planes_.Reserve(rows * groups * 2 * kGroupInputs + kRowSlack);
    factor_.Reserve(rows * SegmentCount(groups) + kRowSlack);
    offset_.Reserve(rows * groups + kRowSlack);
    half_offset_.Reserve(rows * groups * 2 + kRowSlack);
    sum_.Reserve(rows * groups + kRowSlack);
  }

  // What a row of `groups` groups takes, and what the arrays take beside their rows.
  static std::size_t RowBytes(std::size_t groups) {
    const std::size_t group_bytes =
        2 * kGroupInputs + sizeof(std::int32_t) + 2 * sizeof(std::int32_t) + sizeof(float);
    return groups * group_bytes + SegmentCount(groups) * sizeof(float);
  }

  static std::size_t FixedBytes() {
    const std::size_t slack_item =
        sizeof(std::int8_t) + 2 * sizeof(float) + 2 * sizeof(std::int32_t);
    return kRowSlack * slack_item + 5 * kAllocationSlack;
  }

  QuantizeRowsArgs::Out Out() {
    return {
        planes_.data(),
        factor_.data(),
        offset_.data(),
        half_offset_.data(),
        sum_.data(),
        rows_,
        groups_,
    };
  }

  QuantizedRows View() const {
    return {
        planes_.data(),
        factor_.data(),
        offset_.data(),
        half_offset_.data(),
        sum_.data(),
        rows_,
        groups_,
    };
  }

 private:
  std::size_t rows_ = 0;
  std::size_t groups_ = 0;
  AlignedBuffer<std::int8_t> planes_;
  AlignedBuffer<float> factor_;
  AlignedBuffer<std::int32_t> offset_;
  AlignedBuffer<std::int32_t> half_offset_;
  AlignedBuffer<float> sum_;
};

}  // namespace hearth
