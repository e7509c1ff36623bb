#include "kernels/elementwise.h"

#include "kernels/avx2/vector_internal.h"

namespace hearth::avx2 {

void RmsNorm(const RmsNormArgs& args) {
  __m256 lanes[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::size_t i = 0; i < args.width; i += 8) {
    const __m256 x = _mm256_maskload_ps(args.x + i, FirstLanes(args.width - i));
    __m256& sum = lanes[i / 8 % 2];
    sum = _mm256_add_ps(sum, _mm256_mul_ps(x, x));
  }
  const float mean = TreeSum(lanes[0], lanes[1]) / static_cast<float>(args.width);
  const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + args.epsilon)));
  const float inverse = 1.0f / root + mean * 0.0f;
  for (std::size_t i = 0; i < args.width; i += 8) {
    const __m256i mask = FirstLanes(args.width - i);
    const __m256 x = _mm256_maskload_ps(args.x + i, mask);
    const __m256 weight = _mm256_maskload_ps(args.weight + i, mask);
    const __m256 scaled = _mm256_mul_ps(_mm256_mul_ps(x, _mm256_set1_ps(inverse)), weight);
    _mm256_maskstore_ps(args.out + i, mask, scaled);
  }
}

void SwiGlu(const SwiGluArgs& args) {
  const __m256 one = _mm256_set1_ps(1.0f);
  const __m256 sign = _mm256_set1_ps(-0.0f);
  for (std::size_t i = 0; i < args.width; i += 8) {
    const __m256i mask = FirstLanes(args.width - i);
    const __m256 gate = _mm256_maskload_ps(args.gate + i, mask);
    const __m256 up = _mm256_maskload_ps(args.up + i, mask);
    const __m256 below = _mm256_add_ps(one, Exp(_mm256_xor_ps(gate, sign)));
    _mm256_maskstore_ps(args.gate + i, mask, _mm256_mul_ps(_mm256_div_ps(gate, below), up));
  }
}

}  // namespace hearth::avx2
