// Attention of queries over the cached keys and values of one sequence. Knows pages, not requests.
//
// The arithmetic is defined per query (a position and a head), so it does not depend on which other queries
// share the call. Keys come in blocks of 64 tokens, one page each, from position 0; eight blocks make
// a segment. With t counting the keys that the query sees (0 .. position):
//   score[t] = scale * dot, where dot runs over blocks of 32 dimensions in ascending order,
//              dot = dot + (even + odd), even and odd being FMA chains from +0 as in matmul_float.h
//   a segment starts from m = -inf, l[0..15] = +0, acc[d] = +0; each of its blocks does
//     m' = max(m, scores); c = m is -inf ? 0 : Exp(m - m'); p[t] = Exp(score[t] - m'), +0 beyond the query
//     l[t mod 16] = l[t mod 16] * c + p[t] in ascending t (c once), acc[d] = acc[d] * c, and for each half of
//     32 tokens acc[d] = acc[d] + (even + odd), even and odd being FMA chains of p[t] * v[t][d] from +0
//   a segment ends with l = the fixed tree over its lanes; segments are joined in ascending order:
//     m' = max(m, ms); c = Exp(m - m'), cs = Exp(ms - m') (0 where the argument is -inf);
//     l = l * c + ls * cs; acc[d] = fma(accs[d], cs, acc[d] * c)
//   out[d] = acc[d] / l.
// Exp is VectorExp of elementwise.h. Products that no FMA is named for are rounded on their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr std::size_t kPageTokens = 64;   // tokens of a page, which is also a block of keys
inline constexpr std::size_t kSegmentPages = 8;  // pages of a segment
inline constexpr std::size_t kMostTileQueries = 8;  // queries of one call
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

// Shapes:    q [queries][padded_dim]; out [queries][head_dim]; pages [pages]: where this head's part of
//            each page of the sequence begins, in token order; position ascending over the queries.
// Ownership: borrows everything until return.
// Threads:   safe side by side; needs a FloatModeScope. Errors: none.
// Cost:      each key and value is read once a call; no allocation.
struct AttentionArgs {
  const std::byte* const* pages;
  KvStorage storage;
  std::size_t head_dim;
  std::size_t padded_dim;
  float scale;
  std::size_t queries;  // 1 .. kMostTileQueries
  const float* const* q;
  const std::size_t* position;  // [queries] position of the query; it sees keys 0 .. position
  float* const* out;
};

// Writes the key and value of one token of one head into its page: converts to the storage (to
// nearest even, denormals to zero). k, v: [head_dim]; slot: the token's place in the page, 0 .. 63.
struct StoreKvArgs {
  std::byte* page;
  KvStorage storage;
  std::size_t head_dim;
  std::size_t padded_dim;
  std::size_t slot;
  const float* k;
  const float* v;
};

// One variant for all instruction sets: it moves bytes.
void StoreKv(const StoreKvArgs& args);

namespace portable {
void Attention(const AttentionArgs& args);
}

namespace avx512 {
void Attention(const AttentionArgs& args);
}

}  // namespace hearth
