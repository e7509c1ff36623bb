#include "sampling/filters.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/scalar_math.h"

namespace hearth {
namespace {

constexpr float kDropped = -std::numeric_limits<float>::infinity();

bool UsesTopP(const SamplingParameters& parameters) {
  return parameters.top_p > 0 && parameters.top_p < 1;
}

}  // namespace

bool Filters::Active(const SamplingParameters& parameters) {
  return UsesTopP(parameters) || parameters.min_p > 0 || parameters.xtc_probability > 0 ||
         parameters.top_k > 0;
}

// Ids break ties, so that the order is total and every sort gives the same row.
bool Filters::Before(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

double Filters::Weight(const Candidate& candidate) const {
  return Exp(static_cast<double>(candidate.logit) - peak_);
}

void Filters::Apply(
    const SamplingParameters& parameters,
    std::span<const TokenId> xtc_exempt,
    double xtc_uniform,
    Peak peak,
    std::span<float> logits
) {
  if (!Active(parameters)) {
    return;
  }
  peak_ = static_cast<double>(peak.logit);
  const double sum = UsesTopP(parameters) ? SumOfWeights(logits, peak.logit) : 0;
  Collect(parameters, logits, sum);
  if (UsesTopP(parameters)) {
    TopP(parameters.top_p, sum);
  }
  if (parameters.min_p > 0) {
    MinP(parameters.min_p, parameters.min_tokens_to_keep);
  }
  if (xtc_uniform < parameters.xtc_probability) {
    Xtc(parameters.xtc_threshold, xtc_exempt);
  }
  if (parameters.top_k > 0) {
    TopK(parameters.top_k);
  }
  std::fill(logits.begin(), logits.end(), kDropped);
  for (const Candidate& candidate : candidates_) {
    logits[candidate.token] = candidate.logit;
  }
}

// The tokens that the filters cannot rule out without a look at the order, by ascending id.
void Filters::Collect(
    const SamplingParameters& parameters, std::span<const float> logits, double sum
) {
  double lowest = -std::numeric_limits<double>::infinity();
  // If a token has less than half of (1 - p) / vocabulary, then it and all below it have less than half of
  // (1 - p), so the ones above have more than p, by a margin that rounding cannot reach.
  const double rest = 1 - parameters.top_p;
  if (UsesTopP(parameters) && rest > 1e-9) {
    lowest = Log(rest * sum / (2 * static_cast<double>(logits.size())));
  }
  // Without a minimum to keep, min_p is a threshold of its own.
  if (parameters.min_p > 0 && parameters.min_tokens_to_keep <= 1) {
    lowest = std::max(lowest, Log(parameters.min_p));
  }
  candidates_.clear();
  for (std::size_t token = 0; token < logits.size(); ++token) {
    const float logit = logits[token];
    if (logit != kDropped && static_cast<double>(logit) - peak_ >= lowest) {
      candidates_.push_back({.logit = logit, .token = static_cast<TokenId>(token)});
    }
  }
}

// Keeps a token when the weight strictly above it is below p of the total, so equal ones stay together.
void Filters::TopP(double top_p, double sum) {
  const double wanted = top_p * sum;
  double running = 0;  // the weight of all before this one
  double above = 0;    // without those that equal it
  std::size_t sorted = 0;
  std::size_t kept = 0;
  for (; kept < candidates_.size(); ++kept) {
    if (kept == sorted) {
      sorted = SortOn(sorted);
    }
    const Candidate& candidate = candidates_[kept];
    if (kept > 0 && candidate.logit != candidates_[kept - 1].logit) {
      above = running;
    }
    if (above >= wanted) {
      break;
    }
    running += Weight(candidate);
  }
  candidates_.resize(kept);
}

// Usually few are kept, so only as much of the order is made as is walked: the first `sorted` are in their places;
// twice as many when it returns.
std::size_t Filters::SortOn(std::size_t sorted) {
  constexpr std::size_t kFirst = 256;
  const std::size_t goal = std::min(candidates_.size(), std::max(kFirst, 2 * sorted));
  const auto begin = candidates_.begin() + static_cast<std::ptrdiff_t>(sorted);
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(goal);
  if (end != candidates_.end()) {
    std::nth_element(begin, end, candidates_.end(), Before);
  }
  std::sort(begin, end, Before);
  return goal;
}

void Filters::MinP(double min_p, std::size_t keep) {
  if (keep >= candidates_.size()) {
    return;
  }
  // The most probable ones to the front, whatever their share; the others must reach the threshold.
  const auto rest = candidates_.begin() + static_cast<std::ptrdiff_t>(keep);
  std::nth_element(candidates_.begin(), rest, candidates_.end(), Before);
  const double lowest = Log(min_p);
  const auto end = std::remove_if(rest, candidates_.end(), [&](const Candidate& candidate) {
    return static_cast<double>(candidate.logit) - peak_ < lowest;
  });
  candidates_.erase(end, candidates_.end());
}

// Of the tokens above the threshold (in the distribution of what is left), drops all but the least probable.
void Filters::Xtc(double threshold, std::span<const TokenId> exempt) {
  // In order of ids, so that the sum has one value.
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.token < b.token;
  });
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
  const auto end =
      std::remove_if(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
        return candidate.logit > least &&
               std::find(exempt.begin(), exempt.end(), candidate.token) == exempt.end();
      });
  candidates_.erase(end, candidates_.end());
}

void Filters::TopK(std::size_t keep) {
  if (keep >= candidates_.size()) {
    return;
  }
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(keep);
  std::nth_element(candidates_.begin(), end, candidates_.end(), Before);
  candidates_.erase(end, candidates_.end());
}

}  // namespace hearth
