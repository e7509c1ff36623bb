#include "kernels/elementwise.h"

#include "kernels/avx512/vector_internal.h"

namespace hearth::avx512 {

void RmsNorm(const RmsNormArgs& args) {
  __m512 lanes = _mm512_setzero_ps();
  for (std::size_t i = 0; i < args.width; i += 16) {
    const __m512 x = _mm512_maskz_loadu_ps(FirstLanes(args.width - i), args.x + i);
    lanes = _mm512_add_ps(lanes, _mm512_mul_ps(x, x));
  }
  const float mean = TreeSum(lanes) / static_cast<float>(args.width);
  const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + args.epsilon)));
  const float inverse = 1.0f / root + mean * 0.0f;
  for (std::size_t i = 0; i < args.width; i += 16) {
    const __mmask16 mask = FirstLanes(args.width - i);
    const __m512 x = _mm512_maskz_loadu_ps(mask, args.x + i);
    const __m512 weight = _mm512_maskz_loadu_ps(mask, args.weight + i);
    const __m512 scaled = _mm512_mul_ps(_mm512_mul_ps(x, _mm512_set1_ps(inverse)), weight);
    _mm512_mask_storeu_ps(args.out + i, mask, scaled);
  }
}

void SwiGlu(const SwiGluArgs& args) {
  const __m512 one = _mm512_set1_ps(1.0f);
  const __m512 sign = _mm512_set1_ps(-0.0f);
  for (std::size_t i = 0; i < args.width; i += 16) {
    const __mmask16 mask = FirstLanes(args.width - i);
    const __m512 gate = _mm512_maskz_loadu_ps(mask, args.gate + i);
    const __m512 up = _mm512_maskz_loadu_ps(mask, args.up + i);
    const __m512 below = _mm512_add_ps(one, Exp(_mm512_xor_ps(gate, sign)));
    _mm512_mask_storeu_ps(args.gate + i, mask, _mm512_mul_ps(_mm512_div_ps(gate, below), up));
  }
}

}  // namespace hearth::avx512
