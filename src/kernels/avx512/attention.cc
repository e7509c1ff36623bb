#include "kernels/attention.h"

#include "kernels/avx512/vector_internal.h"

namespace hearth::avx512 {
namespace {

constexpr std::size_t kGroups = kPageTokens / 16;
constexpr std::size_t kMostVectorQueries =
    8;  // that share one pass over a page: what the registers hold

float NoKey() {
  return -__builtin_inff();
}

// The running softmax of the queries of one call. q and acc are [queries][padded_dim].
struct Running {
  float most[kMostTileQueries];
  __m512 lanes[kMostTileQueries];
  alignas(64) float q[kMostTileQueries * kMostPaddedHeadDim];
  alignas(64) float acc[kMostTileQueries * kMostPaddedHeadDim];
};

__m512 WidenBf16(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

template <KvStorage kStorage>
void Start(const AttentionArgs& args, Running& running) {
  for (std::size_t query = 0; query < args.queries; ++query) {
    running.most[query] = NoKey();
    running.lanes[query] = _mm512_setzero_ps();
  }
  for (std::size_t i = 0; i < args.queries * args.padded_dim; i += 16) {
    _mm512_store_ps(running.acc + i, _mm512_setzero_ps());
    if constexpr (kStorage == KvStorage::kBF16) {
      const void* from = args.q + 2 * i;
      _mm512_store_ps(
          running.q + i, WidenBf16(_mm256_loadu_si256(static_cast<const __m256i*>(from)))
      );
    } else {
      _mm512_store_ps(running.q + i, _mm512_loadu_ps(args.q + 4 * i));
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

// To bfloat16 and back: values of P, which are zero, normal or NaN.
template <KvStorage kStorage>
__m512 Round(__m512 value) {
  if constexpr (kStorage == KvStorage::kF32) {
    return value;
  } else {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i sum = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_castsi512_ps(
        _mm512_and_si512(sum, _mm512_set1_epi32(static_cast<int>(0xffff0000u)))
    );
  }
}

float ExpOfOne(float x) {
  return _mm512_cvtss_f32(Exp(_mm512_set1_ps(x)));
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
  const auto acc_of = [&](std::size_t i) { return running.acc + (first + i) * dims; };
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
          const float* q = running.q + (first + i) * dims + d;
          even[i] = _mm512_fmadd_ps(key.even, _mm512_set1_ps(q[0]), even[i]);
          odd[i] = _mm512_fmadd_ps(key.odd, _mm512_set1_ps(q[1]), odd[i]);
        }
      }
      for (std::size_t i = 0; i < kQueries; ++i) {
        dot[i] = _mm512_add_ps(dot[i], _mm512_add_ps(even[i], odd[i]));
      }
    }
    for (std::size_t i = 0; i < kQueries; ++i) {
      const __m512 score = _mm512_mul_ps(_mm512_set1_ps(args.scale), dot[i]);
      _mm512_store_ps(p[i] + 16 * group, score);
    }
  }
  float rescale[kQueries];
  for (std::size_t i = 0; i < kQueries; ++i) {
    __m512 score[kGroups];
    __m512 most = _mm512_set1_ps(running.most[first + i]);
    for (std::size_t group = 0; group < kGroups; ++group) {
      const std::size_t begin = 16 * group;
      score[group] = _mm512_load_ps(p[i] + begin);
      if constexpr (kRagged) {
        const __mmask16 seen = FirstLanes(visible[i] > begin ? visible[i] - begin : 0);
        score[group] = _mm512_mask_mov_ps(_mm512_set1_ps(NoKey()), seen, score[group]);
      }
      most = _mm512_max_ps(score[group], most);  // of a NaN, the second operand
    }
    const float maximum = _mm512_reduce_max_ps(most);
    const float before = running.most[first + i];
    rescale[i] = before == NoKey() ? 0.0f : ExpOfOne(before - maximum);
    running.most[first + i] = maximum;
    __m512 lanes = _mm512_mul_ps(running.lanes[first + i], _mm512_set1_ps(rescale[i]));
    for (std::size_t group = 0; group < kGroups; ++group) {
      __m512 exp = ExpOfModest(_mm512_sub_ps(score[group], _mm512_set1_ps(maximum)));
      if constexpr (kRagged) {
        const std::size_t begin = 16 * group;
        exp = _mm512_maskz_mov_ps(FirstLanes(visible[i] > begin ? visible[i] - begin : 0), exp);
      }
      exp = Round<kStorage>(exp);
      _mm512_store_ps(p[i] + 16 * group, exp);
      lanes = _mm512_add_ps(lanes, exp);
    }
    running.lanes[first + i] = lanes;
  }
  const std::byte* values = page + kPageTokens * dims * KvBytes(kStorage);
  for (std::size_t d = 0; d < dims; d += 16) {
    __m512 acc[kQueries];
    for (std::size_t i = 0; i < kQueries; ++i) {
      acc[i] = _mm512_mul_ps(_mm512_load_ps(acc_of(i) + d), _mm512_set1_ps(rescale[i]));
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
      _mm512_store_ps(acc_of(i) + d, acc[i]);
    }
  }
}

template <KvStorage kStorage, std::size_t kQueries>
void AddPageTo(
    const AttentionArgs& args,
    const std::byte* page,
    std::size_t first,
    const std::size_t* visible,
    Running& running
) {
  // The first query sees the fewest keys.
  visible[0] < kPageTokens
      ? AddPage<kStorage, kQueries, true>(args, page, first, visible, running)
      : AddPage<kStorage, kQueries, false>(args, page, first, visible, running);
}

template <KvStorage kStorage>
void AddPageToSome(
    const AttentionArgs& args,
    const std::byte* page,
    std::size_t first,
    std::size_t queries,
    const std::size_t* visible,
    Running& running
) {
  switch (queries) {
    case 1:
      return AddPageTo<kStorage, 1>(args, page, first, visible, running);
    case 2:
      return AddPageTo<kStorage, 2>(args, page, first, visible, running);
    case 3:
      return AddPageTo<kStorage, 3>(args, page, first, visible, running);
    case 4:
      return AddPageTo<kStorage, 4>(args, page, first, visible, running);
    case 5:
      return AddPageTo<kStorage, 5>(args, page, first, visible, running);
    case 6:
      return AddPageTo<kStorage, 6>(args, page, first, visible, running);
    case 7:
      return AddPageTo<kStorage, 7>(args, page, first, visible, running);
    default:
      return AddPageTo<kStorage, kMostVectorQueries>(args, page, first, visible, running);
  }
}

template <KvStorage kStorage>
void AttentionOver(const AttentionArgs& args) {
  Running running;
  Start<kStorage>(args, running);
  std::size_t first = 0;  // queries before it see nothing from here on
  for (std::size_t begin = 0; first < args.queries; begin += kPageTokens) {
    std::size_t visible[kMostTileQueries];
    for (std::size_t query = first; query < args.queries; ++query) {
      const std::size_t keys = args.visible[query] - begin;
      visible[query] = keys < kPageTokens ? keys : kPageTokens;
    }
    for (std::size_t query = first; query < args.queries; query += kMostVectorQueries) {
      const std::size_t left = args.queries - query;
      AddPageToSome<kStorage>(
          args,
          args.pages[begin / kPageTokens],
          query,
          left < kMostVectorQueries ? left : kMostVectorQueries,
          visible + query,
          running
      );
    }
    while (first < args.queries && args.visible[first] <= begin + kPageTokens) {
      ++first;
    }
  }
  for (std::size_t query = 0; query < args.queries; ++query) {
    float* part = args.parts + query * args.part_stride;
    for (std::size_t d = 0; d < args.padded_dim; d += 16) {
      _mm512_store_ps(part + d, _mm512_load_ps(running.acc + query * args.padded_dim + d));
    }
    part[args.padded_dim] = running.most[query];
    part[args.padded_dim + 1] = TreeSum(running.lanes[query]);
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

void JoinSegments(const JoinSegmentsArgs& args) {
  const std::size_t dims = args.padded_dim;
  float* whole = args.parts;
  for (std::size_t segment = 1; segment < args.segments; ++segment) {
    const float* part = args.parts + segment * AttentionPartFloats(dims);
    const float most = part[dims] > whole[dims] ? part[dims] : whole[dims];
    const float keep = ExpOfOne(whole[dims] - most);
    const float take = ExpOfOne(part[dims] - most);
    whole[dims] = most;
    whole[dims + 1] = whole[dims + 1] * keep + part[dims + 1] * take;
    for (std::size_t d = 0; d < dims; d += 16) {
      const __m512 kept = _mm512_mul_ps(_mm512_load_ps(whole + d), _mm512_set1_ps(keep));
      _mm512_store_ps(
          whole + d, _mm512_fmadd_ps(_mm512_load_ps(part + d), _mm512_set1_ps(take), kept)
      );
    }
  }
  const __m512 sum = _mm512_set1_ps(whole[dims + 1]);
  for (std::size_t d = 0; d < args.head_dim; d += 16) {
    const __m512 quotient = _mm512_div_ps(_mm512_load_ps(whole + d), sum);
    _mm512_mask_storeu_ps(
        args.out + d, FirstLanes(args.head_dim - d), _mm512_add_ps(quotient, _mm512_setzero_ps())
    );
  }
}

}  // namespace hearth::avx512
