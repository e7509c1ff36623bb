#include "kernels/attention.h"

#include "kernels/avx512/vector_internal.h"

namespace hearth::avx512 {
namespace {

constexpr std::size_t kGroups = kPageTokens / 16;

float NoKey() {
  return -__builtin_inff();
}

// The running softmax of the queries of one call.
struct Running {
  float most[kMostTileQueries];
  float sum[kMostTileQueries];
  __m512 lanes[kMostTileQueries];
  alignas(64) float acc[kMostTileQueries][kMostPaddedHeadDim];
};

void Clear(Running& running, std::size_t queries, std::size_t dims) {
  for (std::size_t query = 0; query < queries; ++query) {
    running.most[query] = NoKey();
    running.sum[query] = 0.0f;
    running.lanes[query] = _mm512_setzero_ps();
    for (std::size_t d = 0; d < dims; d += 16) {
      _mm512_store_ps(running.acc[query] + d, _mm512_setzero_ps());
    }
  }
}

// The two halves of 16 stored pairs.
struct Pair {
  __m512 even;
  __m512 odd;
};

template <KvStorage kStorage>
constexpr std::size_t PairBytes() {
  return 32 * KvBytes(kStorage);
}

template <KvStorage kStorage>
Pair LoadPair(const std::byte* at) {
  if constexpr (kStorage == KvStorage::kBF16) {
    const __m512i both = _mm512_loadu_si512(at);
    return {
        _mm512_castsi512_ps(_mm512_slli_epi32(both, 16)),
        _mm512_castsi512_ps(
            _mm512_and_si512(both, _mm512_set1_epi32(static_cast<int>(0xffff0000u)))
        )
    };
  } else {
    const __m512 first = _mm512_loadu_ps(at);
    const __m512 second = _mm512_loadu_ps(at + 64);
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    return {
        _mm512_permutex2var_ps(first, even, second), _mm512_permutex2var_ps(first, odd, second)
    };
  }
}

float Rescale(float from, float to) {
  return from == NoKey() ? 0.0f : _mm512_cvtss_f32(Exp(_mm512_set1_ps(from - to)));
}

Pair Seen(const Pair& value, std::size_t token, std::size_t visible) {
  const __mmask16 even = token < visible ? 0xffff : 0;
  const __mmask16 odd = token + 1 < visible ? 0xffff : 0;
  return {_mm512_maskz_mov_ps(even, value.even), _mm512_maskz_mov_ps(odd, value.odd)};
}

// One page against queries first .. first + kQueries - 1; `visible[i]` keys of it are seen by each, all of
// them unless kRagged.
template <KvStorage kStorage, std::size_t kQueries, bool kRagged>
void AddPage(
    const AttentionArgs& args,
    const std::byte* page,
    std::size_t first,
    const std::size_t* visible,
    Running& running
) {
  const std::size_t dims = args.padded_dim;
  alignas(64) float p[kQueries][kPageTokens];
  for (std::size_t group = 0; group < kGroups; ++group) {
    const std::byte* keys = page + group * dims / 2 * PairBytes<kStorage>();
    __m512 dot[kQueries];
    for (std::size_t i = 0; i < kQueries; ++i) {
      dot[i] = _mm512_setzero_ps();
    }
    for (std::size_t block = 0; block < dims; block += 32) {
      __m512 even[kQueries];
      __m512 odd[kQueries];
      for (std::size_t i = 0; i < kQueries; ++i) {
        even[i] = odd[i] = _mm512_setzero_ps();
      }
      for (std::size_t d = block; d < block + 32; d += 2, keys += PairBytes<kStorage>()) {
        const Pair key = LoadPair<kStorage>(keys);
        for (std::size_t i = 0; i < kQueries; ++i) {
          const float* q = args.q[first + i] + d;
          even[i] = _mm512_fmadd_ps(key.even, _mm512_set1_ps(q[0]), even[i]);
          odd[i] = _mm512_fmadd_ps(key.odd, _mm512_set1_ps(q[1]), odd[i]);
        }
      }
      for (std::size_t i = 0; i < kQueries; ++i) {
        dot[i] = _mm512_add_ps(dot[i], _mm512_add_ps(even[i], odd[i]));
      }
    }
    for (std::size_t i = 0; i < kQueries; ++i) {
      const std::size_t begin = 16 * group;
      const __mmask16 seen = FirstLanes(visible[i] > begin ? visible[i] - begin : 0);
      const __m512 score = _mm512_mul_ps(_mm512_set1_ps(args.scale), dot[i]);
      _mm512_store_ps(p[i] + begin, _mm512_mask_mov_ps(_mm512_set1_ps(NoKey()), seen, score));
    }
  }
  float rescale[kQueries];
  for (std::size_t i = 0; i < kQueries; ++i) {
    __m512 most = _mm512_set1_ps(running.most[first + i]);
    for (std::size_t group = 0; group < kGroups; ++group) {
      most = _mm512_max_ps(_mm512_load_ps(p[i] + 16 * group), most);
    }
    const float maximum = _mm512_reduce_max_ps(most);
    rescale[i] = Rescale(running.most[first + i], maximum);
    running.most[first + i] = maximum;
    __m512 lanes = _mm512_mul_ps(running.lanes[first + i], _mm512_set1_ps(rescale[i]));
    for (std::size_t group = 0; group < kGroups; ++group) {
      const std::size_t begin = 16 * group;
      const __mmask16 seen = FirstLanes(visible[i] > begin ? visible[i] - begin : 0);
      const __m512 score = _mm512_load_ps(p[i] + begin);
      const __m512 exp =
          _mm512_maskz_mov_ps(seen, Exp(_mm512_sub_ps(score, _mm512_set1_ps(maximum))));
      _mm512_store_ps(p[i] + begin, exp);
      lanes = _mm512_add_ps(lanes, exp);
    }
    running.lanes[first + i] = lanes;
  }
  const std::byte* values = page + kPageTokens * dims * KvBytes(kStorage);
  for (std::size_t d = 0; d < dims; d += 16) {
    __m512 acc[kQueries];
    for (std::size_t i = 0; i < kQueries; ++i) {
      acc[i] =
          _mm512_mul_ps(_mm512_load_ps(running.acc[first + i] + d), _mm512_set1_ps(rescale[i]));
    }
    for (std::size_t half = 0; half < kPageTokens / 2; half += 16) {
      __m512 even[kQueries];
      __m512 odd[kQueries];
      for (std::size_t i = 0; i < kQueries; ++i) {
        even[i] = odd[i] = _mm512_setzero_ps();
      }
      for (std::size_t pair = half; pair < half + 16; ++pair) {
        const Pair value = LoadPair<kStorage>(values + (pair * dims + d) * 2 * KvBytes(kStorage));
        for (std::size_t i = 0; i < kQueries; ++i) {
          // What a query does not see is read as zero: the page may hold anything there.
          const Pair seen = kRagged ? Seen(value, 2 * pair, visible[i]) : value;
          even[i] = _mm512_fmadd_ps(seen.even, _mm512_set1_ps(p[i][2 * pair]), even[i]);
          odd[i] = _mm512_fmadd_ps(seen.odd, _mm512_set1_ps(p[i][2 * pair + 1]), odd[i]);
        }
      }
      for (std::size_t i = 0; i < kQueries; ++i) {
        acc[i] = _mm512_add_ps(acc[i], _mm512_add_ps(even[i], odd[i]));
      }
    }
    for (std::size_t i = 0; i < kQueries; ++i) {
      _mm512_store_ps(running.acc[first + i] + d, acc[i]);
    }
  }
}

template <KvStorage kStorage, bool kRagged>
void AddPageTo(
    const AttentionArgs& args,
    const std::byte* page,
    std::size_t first,
    const std::size_t* visible,
    Running& running
) {
  switch (args.queries - first) {
    case 1:
      return AddPage<kStorage, 1, kRagged>(args, page, first, visible, running);
    case 2:
      return AddPage<kStorage, 2, kRagged>(args, page, first, visible, running);
    case 3:
      return AddPage<kStorage, 3, kRagged>(args, page, first, visible, running);
    case 4:
      return AddPage<kStorage, 4, kRagged>(args, page, first, visible, running);
    case 5:
      return AddPage<kStorage, 5, kRagged>(args, page, first, visible, running);
    case 6:
      return AddPage<kStorage, 6, kRagged>(args, page, first, visible, running);
    case 7:
      return AddPage<kStorage, 7, kRagged>(args, page, first, visible, running);
    default:
      return AddPage<kStorage, 8, kRagged>(args, page, first, visible, running);
  }
}

void Join(const Running& segment, std::size_t query, std::size_t dims, Running& whole) {
  const float before = whole.most[query];
  const float most = segment.most[query] > before ? segment.most[query] : before;
  const float keep = Rescale(before, most);
  const float take = Rescale(segment.most[query], most);
  whole.most[query] = most;
  whole.sum[query] = whole.sum[query] * keep + TreeSum(segment.lanes[query]) * take;
  for (std::size_t d = 0; d < dims; d += 16) {
    const __m512 kept = _mm512_mul_ps(_mm512_load_ps(whole.acc[query] + d), _mm512_set1_ps(keep));
    const __m512 part = _mm512_load_ps(segment.acc[query] + d);
    _mm512_store_ps(whole.acc[query] + d, _mm512_fmadd_ps(part, _mm512_set1_ps(take), kept));
  }
}

template <KvStorage kStorage>
void AttentionOver(const AttentionArgs& args) {
  Running whole;
  Running segment;
  Clear(whole, args.queries, args.padded_dim);
  std::size_t first = 0;  // queries before it see nothing from here on
  for (std::size_t page = 0; first < args.queries; ++page) {
    if (page % kSegmentPages == 0) {
      Clear(segment, args.queries, args.padded_dim);
    }
    const std::size_t begin = page * kPageTokens;
    std::size_t visible[kMostTileQueries];
    for (std::size_t query = first; query < args.queries; ++query) {
      const std::size_t keys = args.position[query] + 1 - begin;
      visible[query - first] = keys < kPageTokens ? keys : kPageTokens;
    }
    // Positions ascend, so the first query sees the fewest keys.
    if (visible[0] < kPageTokens) {
      AddPageTo<kStorage, true>(args, args.pages[page], first, visible, segment);
    } else {
      AddPageTo<kStorage, false>(args, args.pages[page], first, visible, segment);
    }
    const bool segment_ends = (page + 1) % kSegmentPages == 0;
    const std::size_t next = begin + kPageTokens;
    std::size_t still = first;
    while (still < args.queries && args.position[still] < next) {
      ++still;
    }
    for (std::size_t query = first; query < (segment_ends ? args.queries : still); ++query) {
      Join(segment, query, args.padded_dim, whole);
    }
    first = still;
  }
  for (std::size_t query = 0; query < args.queries; ++query) {
    for (std::size_t d = 0; d < args.head_dim; d += 16) {
      const __m512 quotient =
          _mm512_div_ps(_mm512_load_ps(whole.acc[query] + d), _mm512_set1_ps(whole.sum[query]));
      _mm512_mask_storeu_ps(args.out[query] + d, FirstLanes(args.head_dim - d), quotient);
    }
  }
}

}  // namespace

void Attention(const AttentionArgs& args) {
  if (args.storage == KvStorage::kBF16) {
    AttentionOver<KvStorage::kBF16>(args);
  } else {
    AttentionOver<KvStorage::kF32>(args);
  }
}

}  // namespace hearth::avx512
