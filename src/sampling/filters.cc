#include "sampling/filters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/scalar_math.h"
#include "sampling/nucleus.h"

namespace hearth {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool UsesTopP(const SamplingParameters& parameters) {
  return parameters.top_p > 0 && parameters.top_p < 1;
}

// A float that is below every float whose distance from the peak is at least `lowest`: the selection takes a few tokens
// too many, which the exact comparison drops.
float FloatBelow(double peak, double lowest) {
  constexpr double kMost = std::numeric_limits<float>::max();
  const double bound = peak + lowest;
  const double margin = 1e-6 * (std::abs(peak) + std::abs(lowest)) + 1e-30;
  return lowest == -kInfinity ? -std::numeric_limits<float>::infinity()
                              : static_cast<float>(std::clamp(bound - margin, -kMost, kMost));
}

// Leaves those of which keep says true, in their order. Without a branch: which ones stay cannot be foretold.
template <typename Keep>
void KeepIf(std::vector<Candidate>& candidates, const Keep& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate candidate = candidates[i];
    candidates[kept] = candidate;
    kept += keep(candidate) ? 1U : 0U;
  }
  candidates.resize(kept);
}

}  // namespace

bool Filters::Active(const SamplingParameters& parameters) {
  return UsesTopP(parameters) || parameters.min_p > 0 || parameters.xtc_probability > 0 ||
         parameters.top_k > 0;
}

double Filters::Weight(const Candidate& candidate) const {
  return Exp(static_cast<double>(candidate.logit) - peak_);
}

std::span<const Candidate> Filters::Keep(
    const SamplingParameters& parameters,
    std::span<const TokenId> xtc_exempt,
    double xtc_uniform,
    Peak peak,
    std::span<const float> logits,
    std::optional<double> sum
) {
  peak_ = static_cast<double>(peak.logit);
  const bool xtc = xtc_uniform < parameters.xtc_probability;
  SumBounds bounds{.least = sum.value_or(0), .most = sum.value_or(0)};
  if (UsesTopP(parameters) && !sum) {
    bounds = BoundSumOfWeights(logits, peak.logit, kernels_);
  }
  const double lowest = LeastLogarithm(parameters, bounds.least, logits.size());
  const float threshold = FloatBelow(peak_, lowest);
  if (parameters.top_k > 0 && !xtc) {
    // Each of the others keeps a beginning of the order, so top_k may come first.
    selection_.Top(logits, parameters.top_k, threshold, candidates_);
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.token < b.token;
    });
  } else {
    selection_.Above(logits, threshold, candidates_);
  }
  if (lowest != -kInfinity) {
    KeepIf(candidates_, [&](const Candidate& candidate) {
      return static_cast<double>(candidate.logit) - peak_ >= lowest;
    });
  }
  if (UsesTopP(parameters)) {
    const float least = TopPEdge(parameters.top_p, bounds, peak, logits);
    KeepIf(candidates_, [least](const Candidate& candidate) { return candidate.logit >= least; });
  }
  if (parameters.min_p > 0) {
    MinP(parameters.min_p, parameters.min_tokens_to_keep);
  }
  if (xtc) {
    Xtc(parameters.xtc_threshold, xtc_exempt);
  }
  if (parameters.top_k > 0) {
    TopK(parameters.top_k);
  }
  return candidates_;
}

// How far below the peak a token can lie that the filters cannot rule out without a look at the order.
double Filters::LeastLogarithm(
    const SamplingParameters& parameters, double sum, std::size_t size
) const {
  double lowest = -kInfinity;
  // If a token has less than half of (1 - p) / vocabulary, then it and all below it have less than half of
  // (1 - p), so the ones above have more than p, by a margin that rounding cannot reach.
  const double rest = 1 - parameters.top_p;
  if (UsesTopP(parameters) && rest > 1e-9) {
    lowest = Log(rest * sum / (2 * static_cast<double>(size)));
  }
  // Without a minimum to keep, min_p is a threshold of its own.
  if (parameters.min_p > 0 && parameters.min_tokens_to_keep <= 1) {
    lowest = std::max(lowest, Log(parameters.min_p));
  }
  return lowest;
}

// The edge falls with the sum, so where both bounds have the same it is the sum's.
float Filters::TopPEdge(double top_p, SumBounds bounds, Peak peak, std::span<const float> logits) {
  constexpr std::size_t kFew = 512;  // among more there is nearly always one between the bounds
  const auto edge = [&](double sum) {
    return NucleusEdge(candidates_, peak_, top_p, sum, kernels_, order_);
  };
  if (bounds.least == bounds.most) {
    return edge(bounds.least);
  }
  if (candidates_.size() <= kFew) {
    const float most = edge(bounds.most);
    if (most == edge(bounds.least)) {
      return most;
    }
  }
  return edge(SumOfWeights(logits, peak.logit, kernels_));
}

void Filters::MinP(double min_p, std::size_t keep) {
  if (keep >= candidates_.size()) {
    return;
  }
  // The most probable ones stay, whatever their share; the others must reach the threshold.
  const Candidate last = NthOf(keep - 1);
  const double lowest = Log(min_p);
  KeepIf(candidates_, [&](const Candidate& candidate) {
    return !Before(last, candidate) || static_cast<double>(candidate.logit) - peak_ >= lowest;
  });
}

// Of the tokens above the threshold (in the distribution of what is left), drops all but the least probable.
void Filters::Xtc(double threshold, std::span<const TokenId> exempt) {
  double sum = 0;
  for (const Candidate& candidate : candidates_) {
    sum += Weight(candidate);
  }
  const double needed = threshold * sum;
  float least = std::numeric_limits<float>::infinity();
  for (const Candidate& candidate : candidates_) {
    if (candidate.logit < least && Weight(candidate) > needed) {
      least = candidate.logit;
    }
  }
  KeepIf(candidates_, [&](const Candidate& candidate) {
    return candidate.logit <= least ||
           std::find(exempt.begin(), exempt.end(), candidate.token) != exempt.end();
  });
}

void Filters::TopK(std::size_t keep) {
  if (keep < candidates_.size()) {
    const Candidate last = NthOf(keep - 1);
    KeepIf(candidates_, [&](const Candidate& candidate) { return !Before(last, candidate); });
  }
}

// The candidate at that place of the order, from 0.
Candidate Filters::NthOf(std::size_t place) {
  order_ = candidates_;
  const auto nth = order_.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(order_.begin(), nth, order_.end(), Before);
  return *nth;
}

}  // namespace hearth
