// Takes the few tokens out of a row that a filter or a list wants, without sorting the row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/sampling_kernels.h"
#include "sampling/candidate.h"

namespace hearth {

// Holds only scratch of fixed size.
// Shapes:  logits [vocabulary], without NaN. Only tokens whose logit is above the threshold count.
// Threads: one at a time.
class Selection {
 public:
  explicit Selection(const SamplingKernels& kernels);

  // All of them, by ascending id.
  // Cost: one pass over the row.
  void Above(std::span<const float> logits, float threshold, std::vector<Candidate>& out);

  // The first `count` of them in the order of Before; in no order.
  // Cost: one pass over the row, which keeps at most about 2 count candidates and raises the threshold as it goes.
  void Top(
      std::span<const float> logits, std::size_t count, float threshold, std::vector<Candidate>& out
  );

 private:
  // Adds those of logits[first .. first + count) that are above the threshold.
  void Append(
      std::span<const float> logits,
      std::size_t first,
      std::size_t count,
      float threshold,
      std::vector<Candidate>& out
  );

  SamplingKernels kernels_;
  std::vector<std::uint32_t> ids_;
};

}  // namespace hearth
