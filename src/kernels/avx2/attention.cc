#include "kernels/attention.h"

#include "kernels/avx2/vector_internal.h"

namespace hearth::avx2 {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kVectors = kPageTokens / kLanes;
constexpr std::size_t kMostVectorQueries =
    4;  // that share one pass over a page: what the registers hold

float NoKey() {
  return -__builtin_inff();
}

// The running softmax of the queries of one call. q and acc are [queries][padded_dim].
struct Running {
  float most[kMostTileQueries];
  __m256 lanes[kMostTileQueries][2];
  alignas(32) float q[kMostTileQueries * kMostPaddedHeadDim];
  alignas(32) float acc[kMostTileQueries * kMostPaddedHeadDim];
};

template <KvStorage kStorage>
void Start(const AttentionArgs& args, Running& running) {
  for (std::size_t query = 0; query < args.queries; ++query) {
    running.most[query] = NoKey();
    running.lanes[query][0] = running.lanes[query][1] = _mm256_setzero_ps();
  }
  for (std::size_t i = 0; i < args.queries * args.padded_dim; i += kLanes) {
    const void* from = args.q + i * KvBytes(kStorage);
    _mm256_store_ps(running.acc + i, _mm256_setzero_ps());
    if constexpr (kStorage == KvStorage::kBF16) {
      const __m256i wide =
          _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(from)));
      _mm256_store_ps(running.q + i, _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
    } else {
      _mm256_store_ps(running.q + i, _mm256_loadu_ps(static_cast<const float*>(from)));
    }
  }
}

// The two halves of 8 stored pairs.
struct Pair {
  __m256 even;
  __m256 odd;
};

__m256i UpperHalves() {
  return _mm256_set1_epi32(static_cast<int>(0xffff0000u));
}

template <KvStorage kStorage>
Pair LoadPair(const std::byte* at) {
  const void* from = at;
  if constexpr (kStorage == KvStorage::kBF16) {
    const __m256i both = _mm256_loadu_si256(static_cast<const __m256i*>(from));
    return {
        _mm256_castsi256_ps(_mm256_slli_epi32(both, 16)),
        _mm256_castsi256_ps(_mm256_and_si256(both, UpperHalves()))
    };
  } else {
    const __m256 first = _mm256_loadu_ps(static_cast<const float*>(from));
    const __m256 second = _mm256_loadu_ps(static_cast<const float*>(from) + kLanes);
    // The shuffles mix the vectors in each half; the middle quarters then change places.
    const auto in_order = [](__m256 mixed) {
      return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xd8));
    };
    return {
        in_order(_mm256_shuffle_ps(first, second, 0x88)),
        in_order(_mm256_shuffle_ps(first, second, 0xdd))
    };
  }
}

// To bfloat16 and back: values of P, which are zero, normal or NaN.
template <KvStorage kStorage>
__m256 Round(__m256 value) {
  if constexpr (kStorage == KvStorage::kF32) {
    return value;
  } else {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    return _mm256_castsi256_ps(_mm256_and_si256(sum, UpperHalves()));
  }
}

float ExpOfOne(float x) {
  return _mm256_cvtss_f32(Exp(_mm256_set1_ps(x)));
}

float Maximum(__m256 values) {
  __m128 most = _mm_max_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
  most = _mm_max_ps(most, _mm_movehl_ps(most, most));
  return _mm_cvtss_f32(_mm_max_ss(most, _mm_shuffle_ps(most, most, 1)));
}

__m256 SeenLanes(std::size_t visible, std::size_t begin) {
  return _mm256_castsi256_ps(FirstLanes(visible > begin ? visible - begin : 0));
}

// One page against queries first .. first + kQueries - 1; `visible[i]` keys of it are seen by each.
template <KvStorage kStorage, std::size_t kQueries>
void AddPage(
    const AttentionArgs& args,
    const std::byte* page,
    std::size_t first,
    const std::size_t* visible,
    Running& running
) {
  const std::size_t dims = args.padded_dim;
  constexpr std::size_t kPair = 2 * KvBytes(kStorage);
  alignas(32) float p[kQueries][kPageTokens];
  for (std::size_t vector = 0; vector < kVectors; ++vector) {
    const std::byte* keys = page + (vector / 2 * dims / 2 * 16 + vector % 2 * kLanes) * kPair;
    __m256 dot[kQueries];
    for (std::size_t i = 0; i < kQueries; ++i) {
      dot[i] = _mm256_setzero_ps();
    }
    for (std::size_t block = 0; block < dims; block += 32) {
      __m256 even[kQueries];
      __m256 odd[kQueries];
      for (std::size_t i = 0; i < kQueries; ++i) {
        even[i] = odd[i] = _mm256_setzero_ps();
      }
      for (std::size_t d = block; d < block + 32; d += 2, keys += 16 * kPair) {
        const Pair key = LoadPair<kStorage>(keys);
        for (std::size_t i = 0; i < kQueries; ++i) {
          const float* q = running.q + (first + i) * dims + d;
          even[i] = _mm256_fmadd_ps(key.even, _mm256_broadcast_ss(q), even[i]);
          odd[i] = _mm256_fmadd_ps(key.odd, _mm256_broadcast_ss(q + 1), odd[i]);
        }
      }
      for (std::size_t i = 0; i < kQueries; ++i) {
        dot[i] = _mm256_add_ps(dot[i], _mm256_add_ps(even[i], odd[i]));
      }
    }
    for (std::size_t i = 0; i < kQueries; ++i) {
      const __m256 score = _mm256_mul_ps(_mm256_set1_ps(args.scale), dot[i]);
      const __m256 seen = SeenLanes(visible[i], kLanes * vector);
      _mm256_store_ps(
          p[i] + kLanes * vector, _mm256_blendv_ps(_mm256_set1_ps(NoKey()), score, seen)
      );
    }
  }
  float rescale[kQueries];
  for (std::size_t i = 0; i < kQueries; ++i) {
    const float before = running.most[first + i];
    __m256 most = _mm256_set1_ps(before);
    for (std::size_t vector = 0; vector < kVectors; ++vector) {
      // Of a NaN, the second operand.
      most = _mm256_max_ps(_mm256_load_ps(p[i] + kLanes * vector), most);
    }
    const float maximum = Maximum(most);
    rescale[i] = before == NoKey() ? 0.0f : ExpOfOne(before - maximum);
    running.most[first + i] = maximum;
    __m256* lanes = running.lanes[first + i];
    for (std::size_t half = 0; half < 2; ++half) {
      lanes[half] = _mm256_mul_ps(lanes[half], _mm256_set1_ps(rescale[i]));
    }
    for (std::size_t vector = 0; vector < kVectors; ++vector) {
      float* at = p[i] + kLanes * vector;
      const __m256 exp = Exp(_mm256_sub_ps(_mm256_load_ps(at), _mm256_set1_ps(maximum)));
      const __m256 seen = SeenLanes(visible[i], kLanes * vector);
      const __m256 rounded = _mm256_and_ps(seen, Round<kStorage>(exp));
      _mm256_store_ps(at, rounded);
      lanes[vector % 2] = _mm256_add_ps(lanes[vector % 2], rounded);
    }
  }
  const bool ragged = visible[0] < kPageTokens;  // the first query sees the fewest keys
  const std::byte* values = page + kPageTokens * dims * KvBytes(kStorage);
  for (std::size_t d = 0; d < dims; d += kLanes) {
    __m256 acc[kQueries];
    for (std::size_t i = 0; i < kQueries; ++i) {
      const __m256 before = _mm256_load_ps(running.acc + (first + i) * dims + d);
      acc[i] = _mm256_mul_ps(before, _mm256_set1_ps(rescale[i]));
    }
    for (std::size_t half = 0; half < kPageTokens / 2; half += 16) {
      __m256 even[kQueries];
      __m256 odd[kQueries];
      for (std::size_t i = 0; i < kQueries; ++i) {
        even[i] = odd[i] = _mm256_setzero_ps();
      }
      for (std::size_t pair = half; pair < half + 16; ++pair) {
        const Pair value = LoadPair<kStorage>(values + (pair * dims + d) * kPair);
        for (std::size_t i = 0; i < kQueries; ++i) {
          Pair seen = value;
          if (ragged) {
            // What a query does not see is read as zero: the page may hold anything there.
            const __m256 all = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
            const __m256 none = _mm256_setzero_ps();
            seen.even = _mm256_and_ps(seen.even, 2 * pair < visible[i] ? all : none);
            seen.odd = _mm256_and_ps(seen.odd, 2 * pair + 1 < visible[i] ? all : none);
          }
          even[i] = _mm256_fmadd_ps(seen.even, _mm256_broadcast_ss(p[i] + 2 * pair), even[i]);
          odd[i] = _mm256_fmadd_ps(seen.odd, _mm256_broadcast_ss(p[i] + 2 * pair + 1), odd[i]);
        }
      }
      for (std::size_t i = 0; i < kQueries; ++i) {
        acc[i] = _mm256_add_ps(acc[i], _mm256_add_ps(even[i], odd[i]));
      }
    }
    for (std::size_t i = 0; i < kQueries; ++i) {
      _mm256_store_ps(running.acc + (first + i) * dims + d, acc[i]);
    }
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
    const std::byte* page = args.pages[begin / kPageTokens];
    std::size_t query = first;
    for (; query + kMostVectorQueries <= args.queries; query += kMostVectorQueries) {
      AddPage<kStorage, kMostVectorQueries>(args, page, query, visible + query, running);
    }
    for (; query + 2 <= args.queries; query += 2) {
      AddPage<kStorage, 2>(args, page, query, visible + query, running);
    }
    if (query < args.queries) {
      AddPage<kStorage, 1>(args, page, query, visible + query, running);
    }
    while (first < args.queries && args.visible[first] <= begin + kPageTokens) {
      ++first;
    }
  }
  for (std::size_t query = 0; query < args.queries; ++query) {
    float* part = args.parts + query * args.part_stride;
    for (std::size_t d = 0; d < args.padded_dim; d += kLanes) {
      _mm256_store_ps(part + d, _mm256_load_ps(running.acc + query * args.padded_dim + d));
    }
    part[args.padded_dim] = running.most[query];
    part[args.padded_dim + 1] = TreeSum(running.lanes[query][0], running.lanes[query][1]);
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
    for (std::size_t d = 0; d < dims; d += kLanes) {
      const __m256 kept = _mm256_mul_ps(_mm256_load_ps(whole + d), _mm256_set1_ps(keep));
      _mm256_store_ps(
          whole + d, _mm256_fmadd_ps(_mm256_load_ps(part + d), _mm256_set1_ps(take), kept)
      );
    }
  }
  const __m256 sum = _mm256_set1_ps(whole[dims + 1]);
  for (std::size_t d = 0; d < args.head_dim; d += kLanes) {
    const __m256 quotient = _mm256_div_ps(_mm256_load_ps(whole + d), sum);
    _mm256_maskstore_ps(
        args.out + d, FirstLanes(args.head_dim - d), _mm256_add_ps(quotient, _mm256_setzero_ps())
    );
  }
}

}  // namespace hearth::avx2
