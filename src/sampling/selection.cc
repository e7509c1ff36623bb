#include "sampling/selection.h"

#include <algorithm>

namespace hearth {
namespace {

constexpr std::size_t kStretch = 4096;  // tokens that are looked at before their ids are taken over

// Leaves the first `count` in the order of Before.
void Prune(std::vector<Candidate>& candidates, std::size_t count) {
  if (candidates.size() > count) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(candidates.begin(), end - 1, candidates.end(), Before);
    candidates.resize(count);
  }
}

}  // namespace

Selection::Selection(const SamplingKernels& kernels)
    : kernels_(kernels), ids_(kStretch + kSelectSlack) {
}

void Selection::Append(
    std::span<const float> logits,
    std::size_t first,
    std::size_t count,
    float threshold,
    std::vector<Candidate>& out
) {
  const std::size_t found = kernels_.select_above(
      {logits.data() + first, count, threshold, static_cast<std::uint32_t>(first), ids_.data()}
  );
  const std::size_t before = out.size();
  out.resize(before + found);
  for (std::size_t i = 0; i < found; ++i) {
    out[before + i] = {.logit = logits[ids_[i]], .token = ids_[i]};
  }
}

void Selection::Above(std::span<const float> logits, float threshold, std::vector<Candidate>& out) {
  out.clear();
  for (std::size_t first = 0; first < logits.size(); first += kStretch) {
    Append(logits, first, std::min(kStretch, logits.size() - first), threshold, out);
  }
}

void Selection::Top(
    std::span<const float> logits, std::size_t count, float threshold, std::vector<Candidate>& out
) {
  out.clear();
  if (count == 0) {
    return;
  }
  // Stretches grow: the first ones, where the threshold is low and most tokens pass, are small.
  std::size_t stretch = std::min(kStretch, std::max<std::size_t>(64, 2 * count));
  for (std::size_t first = 0; first < logits.size();) {
    const std::size_t taken = std::min(stretch, logits.size() - first);
    Append(logits, first, taken, threshold, out);
    if (out.size() >= 2 * count) {
      Prune(out, count);
      // Later tokens with the same logit have higher ids and come behind.
      threshold = out[count - 1].logit;
    }
    first += taken;
    stretch = std::min(kStretch, 2 * stretch);
  }
  Prune(out, count);
}

}  // namespace hearth
