#include "sampling/nucleus.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "kernels/scalar_math.h"

namespace hearth {
namespace {

// The first `sorted` are in their places; returns how many are after it, about twice as many, so that only as much of the
// order is made as is walked.
std::size_t SortOn(std::vector<Candidate>& order, std::size_t sorted) {
  constexpr std::size_t kFirst = 256;
  const std::size_t goal = std::min(order.size(), std::max(kFirst, 2 * sorted));
  const auto begin = order.begin() + static_cast<std::ptrdiff_t>(sorted);
  const auto end = order.begin() + static_cast<std::ptrdiff_t>(goal);
  if (end != order.end()) {
    std::nth_element(begin, end, order.end(), Before);
  }
  std::sort(begin, end, Before);
  return goal;
}

// The definition.
float EdgeBySorting(std::vector<Candidate>& order, double peak, double wanted) {
  double running = 0;  // the weight of all before this one
  double above = 0;    // without those that equal it
  std::size_t sorted = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == sorted) {
      sorted = SortOn(order, sorted);
    }
    if (i > 0 && order[i].logit != order[i - 1].logit) {
      above = running;
    }
    if (above >= wanted && i > 0) {
      return order[i - 1].logit;
    }
    running += Exp(static_cast<double>(order[i].logit) - peak);
  }
  return order.back().logit;
}

// Slices of equal width in logits, the highest first.
class Slices {
 public:
  static constexpr std::size_t kCount = 1024;

  Slices(double peak, double lowest)
      : peak_(peak), scale_(static_cast<double>(kCount) / (peak - lowest)) {}

  // Never smaller for a smaller logit, whatever the rounding.
  std::size_t Of(float logit) const {
    const double slice = (peak_ - static_cast<double>(logit)) * scale_;
    return std::min(kCount - 1, static_cast<std::size_t>(slice));
  }

 private:
  double peak_;
  double scale_;
};

std::array<double, Slices::kCount> WeightOfSlices(
    std::span<const Candidate> candidates,
    const Slices& slices,
    double peak,
    const SamplingKernels& kernels
) {
  constexpr std::size_t kChunk = 256;
  std::array<double, Slices::kCount> sums{};
  std::array<float, kChunk> logits;
  std::array<double, kChunk> weights;
  for (std::size_t first = 0; first < candidates.size(); first += kChunk) {
    const std::size_t count = std::min(kChunk, candidates.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      logits[i] = candidates[first + i].logit;
    }
    kernels.exp_terms({logits.data(), count, peak, 1}, weights.data());
    for (std::size_t i = 0; i < count; ++i) {
      sums[slices.Of(logits[i])] += weights[i];
    }
  }
  return sums;
}

// The edge, when it does not depend on the order of additions. Two orders over 2^20 weights differ by less than 3e-10
// of the sum; a decision that is farther from `wanted` than the tolerance is the definition's too.
std::optional<float> EdgeBySlices(
    std::span<const Candidate> candidates,
    double peak,
    double wanted,
    double tolerance,
    const SamplingKernels& kernels,
    std::vector<Candidate>& slice
) {
  const auto least = std::min_element(
      candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        return a.logit < b.logit;
      }
  );
  const double lowest = static_cast<double>(least->logit);
  if (lowest == peak) {
    return least->logit;
  }
  const Slices slices(peak, lowest);
  const std::array<double, Slices::kCount> sums = WeightOfSlices(candidates, slices, peak, kernels);
  double above = 0;
  std::size_t cut = 0;
  while (cut < Slices::kCount && above + sums[cut] < wanted - tolerance) {
    above += sums[cut++];
  }
  if (cut == Slices::kCount) {
    return least->logit;
  }
  slice.clear();
  for (const Candidate& candidate : candidates) {
    if (slices.Of(candidate.logit) == cut) {
      slice.push_back(candidate);
    }
  }
  std::sort(slice.begin(), slice.end(), Before);
  // The slice's first tokens stay: what is above them is nothing, or was below `wanted` by more than the tolerance.
  for (std::size_t i = 0; i < slice.size(); ++i) {
    if (i > 0 && slice[i].logit != slice[i - 1].logit && above > wanted - tolerance) {
      return above >= wanted + tolerance ? std::optional(slice[i - 1].logit) : std::nullopt;
    }
    above += Exp(static_cast<double>(slice[i].logit) - peak);
  }
  return !slice.empty() && above >= wanted + tolerance ? std::optional(slice.back().logit)
                                                       : std::nullopt;
}

}  // namespace

float NucleusEdge(
    std::span<const Candidate> candidates,
    double peak,
    double top_p,
    double sum,
    const SamplingKernels& kernels,
    std::vector<Candidate>& scratch
) {
  constexpr std::size_t kFew = 512;
  constexpr double kTolerance = 1e-9;
  const double wanted = top_p * sum;
  if (candidates.size() > kFew) {
    const std::optional<float> edge =
        EdgeBySlices(candidates, peak, wanted, kTolerance * sum, kernels, scratch);
    if (edge) {
      return *edge;
    }
  }
  scratch.assign(candidates.begin(), candidates.end());
  return EdgeBySorting(scratch, peak, wanted);
}

}  // namespace hearth
