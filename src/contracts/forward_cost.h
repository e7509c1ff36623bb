// What one forward of a model takes in memory beside weights and cache: values for whoever plans memory without the model.
#pragma once

#include <cstddef>

namespace hearth {

// An upper bound of scratch, in bytes, that grows with the largest forward so far; a sequence may be as long as the model's
// context.
struct ForwardCost {
  std::size_t fixed_bytes = 0;
  std::size_t token_bytes = 0;      // a token of the forward, over all of its rows
  std::size_t logit_row_bytes = 0;  // a row of logits that it gives

  std::size_t Bytes(std::size_t tokens, std::size_t logit_rows) const {
    return fixed_bytes + tokens * token_bytes + logit_rows * logit_row_bytes;
  }

  bool operator==(const ForwardCost&) const = default;
};

}  // namespace hearth
