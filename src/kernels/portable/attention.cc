#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise.h"
#include "kernels/half.h"
#include "kernels/portable/load.h"

namespace hearth::portable {
namespace {

constexpr float kNoKey = -std::numeric_limits<float>::infinity();

// One query's running softmax over a segment or the whole sequence.
struct Running {
  float most = kNoKey;
  float lanes[16] = {};
  float sum = 0.0f;
  float acc[kMostPaddedHeadDim] = {};
};

float LoadKv(const std::byte* page, KvStorage storage, std::size_t index) {
  return storage == KvStorage::kF32 ? Load<float>(page + 4 * index)
                                    : Bf16ToFloat(Load<std::uint16_t>(page + 2 * index));
}

// exp(from - to), 0 when nothing stands behind `from`.
float Rescale(float from, float to) {
  return from == kNoKey ? 0.0f : VectorExp(from - to);
}

float Score(const AttentionArgs& args, const std::byte* page, std::size_t t, const float* q) {
  const std::size_t first = t / 16 * 16 * args.padded_dim + t % 16 * 2;
  float dot = 0.0f;
  for (std::size_t block = 0; block < args.padded_dim; block += 32) {
    float chain[2] = {};
    for (std::size_t d = block; d < block + 32; ++d) {
      const float key = LoadKv(page, args.storage, first + d / 2 * 32 + d % 2);
      chain[d % 2] = std::fma(key, q[d], chain[d % 2]);
    }
    dot += chain[0] + chain[1];
  }
  return args.scale * dot;
}

// The first `visible` keys of a page.
void AddPage(
    const AttentionArgs& args,
    const std::byte* page,
    std::size_t visible,
    const float* q,
    Running& running
) {
  float p[kPageTokens];
  float most = running.most;
  for (std::size_t t = 0; t < visible; ++t) {
    p[t] = Score(args, page, t, q);
    most = p[t] > most ? p[t] : most;  // a NaN reaches the output through its own p
  }
  const float rescale = Rescale(running.most, most);
  running.most = most;
  for (float& lane : running.lanes) {
    lane *= rescale;
  }
  for (std::size_t t = 0; t < kPageTokens; ++t) {
    p[t] = t < visible ? VectorExp(p[t] - most) : 0.0f;
    running.lanes[t % 16] += p[t];
  }
  const std::size_t values = kPageTokens * args.padded_dim;
  for (std::size_t d = 0; d < args.padded_dim; ++d) {
    running.acc[d] *= rescale;
    for (std::size_t half = 0; half < kPageTokens; half += 32) {
      float chain[2] = {};
      for (std::size_t t = half; t < half + 32; ++t) {
        // What lies beyond the query is read as zero: the page may hold anything there.
        const std::size_t index = values + t / 2 * 2 * args.padded_dim + 2 * d + t % 2;
        const float value = t < visible ? LoadKv(page, args.storage, index) : 0.0f;
        chain[t % 2] = std::fma(value, p[t], chain[t % 2]);
      }
      running.acc[d] += chain[0] + chain[1];
    }
  }
}

void Join(const Running& segment, std::size_t dims, Running& whole) {
  const float most = segment.most > whole.most ? segment.most : whole.most;
  const float keep = Rescale(whole.most, most);
  const float take = Rescale(segment.most, most);
  whole.most = most;
  whole.sum = whole.sum * keep + segment.sum * take;
  for (std::size_t d = 0; d < dims; ++d) {
    whole.acc[d] = std::fma(segment.acc[d], take, whole.acc[d] * keep);
  }
}

}  // namespace

void Attention(const AttentionArgs& args) {
  for (std::size_t query = 0; query < args.queries; ++query) {
    const std::size_t keys = args.position[query] + 1;
    const std::size_t pages = (keys + kPageTokens - 1) / kPageTokens;
    Running whole;
    for (std::size_t first = 0; first < pages; first += kSegmentPages) {
      Running segment;
      for (std::size_t page = first; page < std::min(pages, first + kSegmentPages); ++page) {
        const std::size_t visible = std::min(kPageTokens, keys - page * kPageTokens);
        AddPage(args, args.pages[page], visible, args.q[query], segment);
      }
      segment.sum = FixedTreeSum(segment.lanes);
      Join(segment, args.padded_dim, whole);
    }
    for (std::size_t d = 0; d < args.head_dim; ++d) {
      args.out[query][d] = whole.acc[d] / whole.sum;
    }
  }
}

}  // namespace hearth::portable
