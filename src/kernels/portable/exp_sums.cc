#include "kernels/exp_sums.h"

#include <algorithm>

#include "kernels/scalar_math.h"

namespace hearth::portable {
namespace {

// The terms of the block that starts at `first`; +0 behind the row's end.
void BlockTerms(const ExpSumsArgs& args, std::size_t first, double* terms) {
  const std::size_t count = std::min(kExpBlock, args.count - first);
  ExpTerms({args.x + first, count, args.shift, args.divisor}, terms);
  std::fill(terms + count, terms + kExpBlock, 0.0);
}

}  // namespace

void ExpTerms(const ExpSumsArgs& args, double* terms) {
  for (std::size_t i = 0; i < args.count; ++i) {
    terms[i] = (static_cast<double>(args.x[i]) - args.shift) / args.divisor;
  }
  ExpArray(terms, terms, args.count);
}

double ExpTotal(const ExpSumsArgs& args) {
  constexpr std::size_t kLanes = 16;
  double lanes[kLanes] = {};
  double terms[kExpBlock];
  const ExpSumsArgs whole{args.x, args.count, args.shift, 1};
  for (std::size_t first = 0; first < args.count; first += kExpBlock) {
    BlockTerms(whole, first, terms);
    for (std::size_t row = 0; row < kExpBlock; row += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += terms[row + lane];
      }
    }
  }
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  return lanes[0];
}

void ExpBlockSums(const ExpSumsArgs& args, double* sums) {
  double terms[kExpBlocksAtOnce * kExpStride] = {};
  double eight[kExpBlocksAtOnce];
  for (std::size_t first = 0; first < args.count; first += kExpBlocksAtOnce * kExpBlock) {
    std::size_t blocks = 0;
    for (; blocks < kExpBlocksAtOnce && first + blocks * kExpBlock < args.count; ++blocks) {
      BlockTerms(args, first + blocks * kExpBlock, terms + blocks * kExpStride);
    }
    SumEightBlocks(terms, eight);
    std::copy(eight, eight + blocks, sums + first / kExpBlock);
  }
}

}  // namespace hearth::portable
