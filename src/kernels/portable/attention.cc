#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/elementwise.h"
#include "kernels/half.h"
#include "kernels/portable/load.h"

namespace hearth::portable {
namespace {

constexpr float kNoKey = -std::numeric_limits<float>::infinity();

// One query's running softmax over a segment.
struct Running {
  float most = kNoKey;
  float lanes[16] = {};
  float acc[kMostPaddedHeadDim] = {};
};

float LoadValue(const std::byte* values, KvStorage storage, std::size_t index) {
  return storage == KvStorage::kF32 ? Load<float>(values + 4 * index)
                                    : Bf16ToFloat(Load<std::uint16_t>(values + 2 * index));
}

float Round(KvStorage storage, float value) {
  return storage == KvStorage::kF32 ? value : Bf16ToFloat(FloatToBf16(value));
}

float Score(const AttentionArgs& args, const std::byte* page, std::size_t t, const std::byte* q) {
  const std::size_t first = t / 16 * 16 * args.padded_dim + t % 16 * 2;
  float dot = 0.0f;
  for (std::size_t block = 0; block < args.padded_dim; block += 32) {
    float chain[2] = {};
    for (std::size_t d = block; d < block + 32; ++d) {
      const float key = LoadValue(page, args.storage, first + d / 2 * 32 + d % 2);
      chain[d % 2] = std::fma(key, LoadValue(q, args.storage, d), chain[d % 2]);
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
    const std::byte* q,
    Running& running
) {
  float p[kPageTokens];
  float most = running.most;
  for (std::size_t t = 0; t < visible; ++t) {
    p[t] = Score(args, page, t, q);
    most = p[t] > most ? p[t] : most;  // a NaN reaches the output through its own p
  }
  const float rescale = running.most == kNoKey ? 0.0f : VectorExp(running.most - most);
  running.most = most;
  for (float& lane : running.lanes) {
    lane *= rescale;
  }
  for (std::size_t t = 0; t < kPageTokens; ++t) {
    p[t] = t < visible ? Round(args.storage, VectorExp(p[t] - most)) : 0.0f;
    running.lanes[t % 16] += p[t];
  }
  const std::size_t values = kPageTokens * args.padded_dim;
  for (std::size_t d = 0; d < args.padded_dim; ++d) {
    running.acc[d] *= rescale;
    for (std::size_t half = 0; half < kPageTokens; half += 32) {
      float chain[2] = {};
      for (std::size_t t = half; t < half + 32; ++t) {
        // The page may hold anything beyond the query.
        const std::size_t index = values + t / 2 * 2 * args.padded_dim + 2 * d + t % 2;
        const float value = t < visible ? LoadValue(page, args.storage, index) : 0.0f;
        chain[t % 2] = std::fma(value, p[t], chain[t % 2]);
      }
      running.acc[d] += chain[0] + chain[1];
    }
  }
}

}  // namespace

void Attention(const AttentionArgs& args) {
  const std::size_t dims = args.padded_dim;
  for (std::size_t query = 0; query < args.queries; ++query) {
    const std::byte* q = args.q + query * dims * KvBytes(args.storage);
    Running running;
    for (std::size_t first = 0; first < args.visible[query]; first += kPageTokens) {
      const std::size_t visible = std::min(kPageTokens, args.visible[query] - first);
      AddPage(args, args.pages[first / kPageTokens], visible, q, running);
    }
    float* part = args.parts + query * args.part_stride;
    std::copy_n(running.acc, dims, part);
    part[dims] = running.most;
    part[dims + 1] = FixedTreeSum(running.lanes);
  }
}

void JoinSegments(const JoinSegmentsArgs& args) {
  const std::size_t dims = args.padded_dim;
  float* whole = args.parts;
  for (std::size_t segment = 1; segment < args.segments; ++segment) {
    const float* part = args.parts + segment * AttentionPartFloats(dims);
    const float most = part[dims] > whole[dims] ? part[dims] : whole[dims];
    const float keep = VectorExp(whole[dims] - most);
    const float take = VectorExp(part[dims] - most);
    whole[dims] = most;
    whole[dims + 1] = whole[dims + 1] * keep + part[dims + 1] * take;
    for (std::size_t d = 0; d < dims; ++d) {
      whole[d] = std::fma(part[d], take, whole[d] * keep);
    }
  }
  for (std::size_t d = 0; d < args.head_dim; ++d) {
    args.out[d] = whole[d] / whole[dims + 1] + 0.0f;
  }
}

void RotateHead(const RotateHeadArgs& args) {
  const auto store = [&](std::size_t d, float value) {
    if (args.storage == KvStorage::kF32) {
      std::memcpy(args.out + 4 * d, &value, sizeof value);
    } else {
      const std::uint16_t bits = FloatToBf16(value);
      std::memcpy(args.out + 2 * d, &bits, sizeof bits);
    }
  };
  for (std::size_t i = 0; i < args.pairs; ++i) {
    const float a = args.x[2 * i];
    const float b = args.x[2 * i + 1];
    store(2 * i, a * args.cosine[i] - b * args.sine[i]);
    store(2 * i + 1, a * args.sine[i] + b * args.cosine[i]);
  }
  for (std::size_t d = 2 * args.pairs; d < args.padded_dim; ++d) {
    store(d, d < args.head_dim ? args.x[d] : 0.0f);
  }
}

}  // namespace hearth::portable
