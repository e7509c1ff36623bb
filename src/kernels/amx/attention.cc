// Sixteen queries against a page: both products on tiles, the softmax between them on vectors.
#include "kernels/attention.h"

#include "kernels/amx/tile_internal.h"
#include "kernels/avx512/vector_internal.h"

namespace hearth::amx {
namespace {

using avx512::ExpOfModest;
using avx512::FirstLanes;
using avx512::TreeSum;

constexpr std::size_t kGroups = kPageTokens / 16;
constexpr std::size_t kRowBytes = 64;                             // of a tile
constexpr std::size_t kScoreBytes = kPageTokens * sizeof(float);  // of one query
constexpr std::size_t kLeastQueries = 2;                          // one is not faster on tiles

static_assert(kMostTileQueries == kTileDim);

__m512 NoKeys() {
  return _mm512_set1_ps(-__builtin_inff());
}

// The running softmax of a tile of queries; rows of absent queries are computed from zeros and never read.
// q and acc are [16][padded_dim].
struct Running {
  alignas(64) std::byte q[kTileDim * kMostPaddedHeadDim * 2];
  alignas(64) float acc[kTileDim * kMostPaddedHeadDim];
  alignas(64) float scores[2][kTileDim][kPageTokens];  // of this page and the next
  alignas(64) std::byte p[2][kTileDim][kRowBytes];     // of the two halves of a page
  __m512 lanes[kTileDim];
  __m512 most;  // [query]
};

void Start(const AttentionArgs& args, Running& running) {
  const std::size_t dims = args.padded_dim;
  for (std::size_t i = 0; i < kTileDim * dims; i += 32) {
    const bool real = i < args.queries * dims;
    _mm512_store_si512(
        running.q + 2 * i, real ? _mm512_loadu_si512(args.q + 2 * i) : _mm512_setzero_si512()
    );
    _mm512_store_ps(running.acc + i, _mm512_setzero_ps());
    _mm512_store_ps(running.acc + i + 16, _mm512_setzero_ps());
  }
  for (std::size_t i = 0; i < kTileDim; ++i) {
    running.lanes[i] = _mm512_setzero_ps();
    _mm512_store_si512(running.p[0][i], _mm512_setzero_si512());
    _mm512_store_si512(running.p[1][i], _mm512_setzero_si512());
  }
  running.most = NoKeys();
}

// dot [16 queries][64 keys].
void DotProducts(const std::byte* q, const std::byte* page, std::size_t dims, float* dot) {
  const std::size_t group_bytes = dims * 32;
  TileZero<0>();
  TileZero<1>();
  TileZero<2>();
  TileZero<3>();
  for (std::size_t d = 0; d < dims; d += 32) {
    const std::byte* keys = page + d * 32;
    TileLoad<4>(q + 2 * d, 2 * dims);
    TileLoad<5>(keys, kRowBytes);
    TileProductBf16<0, 4, 5>();
    TileLoad<6>(keys + group_bytes, kRowBytes);
    TileProductBf16<1, 4, 6>();
    TileLoad<7>(keys + 2 * group_bytes, kRowBytes);
    TileProductBf16<2, 4, 7>();
    TileLoad<5>(keys + 3 * group_bytes, kRowBytes);
    TileProductBf16<3, 4, 5>();
  }
  TileStore<0>(dot, kScoreBytes);
  TileStore<1>(dot + 16, kScoreBytes);
  TileStore<2>(dot + 32, kScoreBytes);
  TileStore<3>(dot + 48, kScoreBytes);
}

// P of one page from its dot products, and what it does to the running maximum, denominators and sums.
// visible [query] keys are seen, all unless kRagged.
template <bool kRagged>
void Softmax(
    const AttentionArgs& args, const float* dot, const std::size_t* visible, Running& running
) {
  const __m512 scale = _mm512_set1_ps(args.scale);
  const auto seen = [&](std::size_t query, std::size_t group) {
    const std::size_t begin = 16 * group;
    return FirstLanes(visible[query] > begin ? visible[query] - begin : 0);
  };
  alignas(64) float most[kTileDim];
  alignas(64) float rescale[kTileDim];
  _mm512_store_ps(most, running.most);
  for (std::size_t query = 0; query < args.queries; ++query) {
    __m512 maximum = _mm512_set1_ps(most[query]);
    for (std::size_t group = 0; group < kGroups; ++group) {
      __m512 score = _mm512_mul_ps(scale, _mm512_load_ps(dot + query * kPageTokens + 16 * group));
      if constexpr (kRagged) {
        score = _mm512_mask_mov_ps(NoKeys(), seen(query, group), score);
      }
      maximum = _mm512_max_ps(score, maximum);  // of a NaN, the second operand
    }
    most[query] = _mm512_reduce_max_ps(maximum);
  }
  const __m512 before = running.most;
  running.most = _mm512_load_ps(most);
  const __mmask16 some = _mm512_cmp_ps_mask(before, NoKeys(), _CMP_NEQ_UQ);
  _mm512_store_ps(
      rescale, _mm512_maskz_mov_ps(some, avx512::Exp(_mm512_sub_ps(before, running.most)))
  );
  for (std::size_t query = 0; query < args.queries; ++query) {
    const __m512 maximum = _mm512_set1_ps(most[query]);
    __m512 p[kGroups];
    for (std::size_t group = 0; group < kGroups; ++group) {
      const __m512 score =
          _mm512_mul_ps(scale, _mm512_load_ps(dot + query * kPageTokens + 16 * group));
      p[group] = ExpOfModest(_mm512_sub_ps(score, maximum));
      if constexpr (kRagged) {
        p[group] = _mm512_maskz_mov_ps(seen(query, group), p[group]);
      }
    }
    __m512 lanes = _mm512_mul_ps(running.lanes[query], _mm512_set1_ps(rescale[query]));
    for (std::size_t half = 0; half < 2; ++half) {
      // The conversion is that of FloatToBf16: the values are zero, normal or NaN.
      const __m512bh pair = _mm512_cvtne2ps_pbh(p[2 * half + 1], p[2 * half]);
      const auto bits = reinterpret_cast<__m512i>(pair);
      _mm512_store_si512(running.p[half][query], bits);
      const __m512i first = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(bits));
      const __m512i second = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(bits, 1));
      lanes = _mm512_add_ps(lanes, _mm512_castsi512_ps(_mm512_slli_epi32(first, 16)));
      lanes = _mm512_add_ps(lanes, _mm512_castsi512_ps(_mm512_slli_epi32(second, 16)));
    }
    running.lanes[query] = lanes;
    if (rescale[query] != 1.0f) {
      float* acc = running.acc + query * args.padded_dim;
      for (std::size_t d = 0; d < args.padded_dim; d += 16) {
        _mm512_store_ps(
            acc + d, _mm512_mul_ps(_mm512_load_ps(acc + d), _mm512_set1_ps(rescale[query]))
        );
      }
    }
  }
}

// acc [16][dims] += P times the page's values.
void AddValues(const std::byte* page, std::size_t dims, Running& running) {
  const std::byte* values = page + kPageTokens * dims * 2;
  const std::size_t value_stride = dims * 4;
  const std::size_t half_bytes = kTileDim * value_stride;
  const std::size_t acc_stride = dims * sizeof(float);
  TileLoad<4>(running.p[0], kRowBytes);
  TileLoad<5>(running.p[1], kRowBytes);
  for (std::size_t d = 0; d < dims; d += 32) {
    float* acc = running.acc + d;
    const std::byte* from = values + 4 * d;
    TileLoad<0>(acc, acc_stride);
    TileLoad<1>(acc + 16, acc_stride);
    TileLoad<6>(from, value_stride);
    TileProductBf16<0, 4, 6>();
    TileLoad<7>(from + kRowBytes, value_stride);
    TileProductBf16<1, 4, 7>();
    TileLoad<6>(from + half_bytes, value_stride);
    TileProductBf16<0, 5, 6>();
    TileLoad<7>(from + half_bytes + kRowBytes, value_stride);
    TileProductBf16<1, 5, 7>();
    TileStore<0>(acc, acc_stride);
    TileStore<1>(acc + 16, acc_stride);
  }
}

// Whether the values of all tokens from `first` on in a page are finite. It may also look at the token before.
bool ValuesAreFinite(const std::byte* page, std::size_t dims, std::size_t first) {
  const std::byte* values = page + kPageTokens * dims * 2;
  const __m512i exponent = _mm512_set1_epi16(0x7f80);
  __mmask32 bad = 0;
  for (std::size_t at = first / 2 * dims * 4; at < kPageTokens * dims * 2; at += kRowBytes) {
    const __m512i bits = _mm512_loadu_si512(values + at);
    bad |= _mm512_cmpeq_epi16_mask(_mm512_and_si512(bits, exponent), exponent);
  }
  return bad == 0;
}

// Tiles multiply what a query does not see by +0, which is only harmless where it is finite.
bool UnseenIsFinite(const AttentionArgs& args, std::size_t pages) {
  for (std::size_t page = args.visible[0] / kPageTokens; page < pages; ++page) {
    const std::size_t begin = page * kPageTokens;
    const std::size_t first = args.visible[0] > begin ? args.visible[0] - begin : 0;
    if (!ValuesAreFinite(args.pages[page], args.padded_dim, first)) {
      return false;
    }
  }
  return true;
}

}  // namespace

void Attention(const AttentionArgs& args) {
  const std::size_t dims = args.padded_dim;
  const std::size_t pages = (args.visible[args.queries - 1] + kPageTokens - 1) / kPageTokens;
  if (args.storage != KvStorage::kBF16 || args.queries < kLeastQueries ||
      !UnseenIsFinite(args, pages)) {
    return avx512::Attention(args);
  }
  Running running;
  Start(args, running);
  {
    const TileScope tiles;
    DotProducts(running.q, args.pages[0], dims, running.scores[0][0]);
    for (std::size_t page = 0; page < pages; ++page) {
      // The next page's products run while the vectors work on this page.
      if (page + 1 < pages) {
        DotProducts(running.q, args.pages[page + 1], dims, running.scores[(page + 1) % 2][0]);
      }
      const float* dot = running.scores[page % 2][0];
      const std::size_t begin = page * kPageTokens;
      if (args.visible[0] >= begin + kPageTokens) {
        Softmax<false>(args, dot, nullptr, running);
      } else {
        std::size_t visible[kTileDim];
        for (std::size_t query = 0; query < args.queries; ++query) {
          visible[query] = args.visible[query] > begin ? args.visible[query] - begin : 0;
        }
        Softmax<true>(args, dot, visible, running);
      }
      AddValues(args.pages[page], dims, running);
    }
  }
  alignas(64) float most[kTileDim];
  _mm512_store_ps(most, running.most);
  for (std::size_t query = 0; query < args.queries; ++query) {
    float* part = args.parts + query * args.part_stride;
    for (std::size_t d = 0; d < dims; d += 16) {
      _mm512_store_ps(part + d, _mm512_load_ps(running.acc + query * dims + d));
    }
    part[dims] = most[query];
    part[dims + 1] = TreeSum(running.lanes[query]);
  }
}

}  // namespace hearth::amx
