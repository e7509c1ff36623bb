#include "platform/float_mode.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace hearth {

#if defined(__x86_64__)

namespace {

constexpr std::uint32_t kFlushToZero = 0x8000;
constexpr std::uint32_t kDenormalsAreZero = 0x0040;
constexpr std::uint32_t kRoundingBits = 0x6000;

}  // namespace

FloatModeScope::FloatModeScope(FloatMode mode) : saved_(_mm_getcsr()) {
  constexpr std::uint32_t kDenormalBits = kFlushToZero | kDenormalsAreZero;
  _mm_setcsr(
      (saved_ & ~(kRoundingBits | kDenormalBits)) |
      (mode == FloatMode::kKernels ? kDenormalBits : 0)
  );
}

FloatModeScope::~FloatModeScope() {
  _mm_setcsr(saved_);
}

#else

// Other architectures keep IEEE denormals until they have kernels of their own.
FloatModeScope::FloatModeScope(FloatMode /*mode*/) : saved_(0) {
}

FloatModeScope::~FloatModeScope() {
}

#endif

}  // namespace hearth
