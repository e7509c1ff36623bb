// Attention of queries over the cached keys and values of one sequence. Knows pages, not requests.
//
// The arithmetic is defined per query (a position and a head), so it does not depend on which other queries
// share the call. Keys come in blocks of 64 tokens, one page each, from position 0; eight blocks make
// a segment. Round is to bfloat16 (FloatToBf16 of half.h) where the cache is bfloat16, and nothing where it
// is float32. With q the rotated query after Round, and t counting the keys that the query sees (0 .. position):
//   score[t] = scale * dot, where dot runs over blocks of 32 dimensions in ascending order from +0,
//              dot = dot + (even + odd), even and odd being FMA chains from +0 as in matmul_float.h
//   a segment starts from m = -inf, l[0..15] = +0, acc[d] = +0; each of its blocks does
//     m' = max(m, scores); c = m is -inf ? 0 : Exp(m - m'); p[t] = Round(Exp(score[t] - m')), +0 beyond the query
//     l[t mod 16] = l[t mod 16] * c + p[t] in ascending t (c once), acc[d] = acc[d] * c, and for each half of
//     32 tokens acc[d] = acc[d] + (even + odd), even and odd being FMA chains of p[t] * v[t][d] from +0; values
//     beyond the query are read as zero
//   a segment ends with l = the fixed tree over its lanes; segments are joined in ascending order, the first
//   being the start of m, l and acc, and each later one (ms, ls, accs) doing
//     m' = max(m, ms); c = Exp(m - m'), cs = Exp(ms - m');
//     l = l * c + ls * cs; acc[d] = fma(accs[d], cs, acc[d] * c)
//   out[d] = acc[d] / l + 0. The last sum makes every zero positive, so it does not show whether a finite
//   value beyond the query, times its p of +0, was added: that changes no more than signs of zeros.
// Exp is VectorExp of elementwise.h. Products that no FMA is named for are rounded on their own.
//
// Both products are products of bfloat16 tiles, and the pages are laid out as their right-hand sides.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr std::size_t kPageTokens = 64;   // tokens of a page, which is also a block of keys
inline constexpr std::size_t kSegmentPages = 8;  // pages of a segment
inline constexpr std::size_t kSegmentTokens = kSegmentPages * kPageTokens;
inline constexpr std::size_t kMostTileQueries = 16;  // queries of one call
inline constexpr std::size_t kMostPaddedHeadDim = 512;

enum class KvStorage { kBF16, kF32 };

constexpr std::size_t KvBytes(KvStorage storage) {
  return storage == KvStorage::kBF16 ? 2 : 4;
}

// head_dim rounded up to a whole block of 32; the padding is kept +0 in pages and queries.
constexpr std::size_t PaddedHeadDim(std::size_t head_dim) {
  return (head_dim + 31) / 32 * 32;
}

// One head of one page holds keys and then values, each 64 * padded_dim values:
//   keys    [4 token groups, padded_dim / 2, 16 tokens, 2 dimensions]
//   values  [32 token pairs, padded_dim, 2 tokens]
constexpr std::size_t HeadPageValues(std::size_t padded_dim) {
  return 2 * kPageTokens * padded_dim;
}

// Floats of one query's result over one segment: acc [padded_dim], m, l, and what fills a cache line.
constexpr std::size_t AttentionPartFloats(std::size_t padded_dim) {
  return padded_dim + 16;
}

// One segment for a tile of queries.
// Shapes:    pages: where this head's part of the segment's pages begins, as many as the last query sees;
//            q [queries][padded_dim] values of `storage`; parts: query i writes at i * part_stride.
// Ownership: borrows everything until return. parts and part_stride are multiples of 64 bytes.
// Threads:   safe side by side; needs a FloatModeScope. Errors: none.
// Cost:      each key and value is read once a call; no allocation.
struct AttentionArgs {
  const std::byte* const* pages;
  KvStorage storage;
  std::size_t padded_dim;
  float scale;
  std::size_t queries;  // 1 .. kMostTileQueries
  const std::byte* q;
  const std::size_t* visible;  // [queries] keys of the segment that each sees: 1 .. 512, ascending
  float* parts;
  std::size_t part_stride;
};

// Joins the parts of one query, [segments] of AttentionPartFloats, and divides.
// Shapes: out [head_dim]. parts is 64-byte aligned and is written on.
struct JoinSegmentsArgs {
  float* parts;
  std::size_t segments;
  std::size_t head_dim;
  std::size_t padded_dim;
  float* out;
};

// Rotates the pairs (2i, 2i + 1) of one head by the angles whose cosine and sine are given,
// (a, b) -> (a * c - b * s, a * s + b * c), and converts it to the storage of the cache.
// Shapes: x [head_dim]; cosine, sine [pairs], pairs <= head_dim / 2 (0 to convert only); out [padded_dim]
//         values of `storage`, rounded to nearest even, denormals to zero, the padding +0.
struct RotateHeadArgs {
  const float* x;
  const float* cosine;
  const float* sine;
  std::size_t pairs;
  std::size_t head_dim;
  std::size_t padded_dim;
  KvStorage storage;
  std::byte* out;
};

// Writes the key and value of one token of one head into its page. k, v: [padded_dim] values of
// `storage`, as RotateHead makes them; slot: the token's place in the page, 0 .. 63.
struct StoreKvArgs {
  std::byte* page;
  KvStorage storage;
  std::size_t padded_dim;
  std::size_t slot;
  const std::byte* k;
  const std::byte* v;
};

// One variant for all instruction sets: it moves bytes.
void StoreKv(const StoreKvArgs& args);

namespace portable {
void Attention(const AttentionArgs& args);
void JoinSegments(const JoinSegmentsArgs& args);
void RotateHead(const RotateHeadArgs& args);
}  // namespace portable

namespace avx2 {
void Attention(const AttentionArgs& args);
void JoinSegments(const JoinSegmentsArgs& args);
void RotateHead(const RotateHeadArgs& args);
}  // namespace avx2

namespace avx512 {
void Attention(const AttentionArgs& args);
void JoinSegments(const JoinSegmentsArgs& args);
void RotateHead(const RotateHeadArgs& args);
}  // namespace avx512

namespace amx {
void Attention(const AttentionArgs& args);
}

}  // namespace hearth
