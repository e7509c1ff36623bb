#include "forms/form_kernels.h"

namespace hearth::forms {

std::optional<FormPair> FormKernelsFor(Isa isa) {
#if defined(__x86_64__) && !defined(HEARTH_PORTABLE_ONLY)
  switch (isa) {
    case Isa::kAmx:
      return FormPair{amx::FormG, amx::FormR};
    case Isa::kAvx512Vnni:
    case Isa::kAvx512:
      return FormPair{avx512::FormG, avx512::FormR};
    case Isa::kAvx2:
      return FormPair{avx2::FormG, avx2::FormR};
    case Isa::kPortable:
      break;
  }
#endif
  if (isa == Isa::kPortable) {
    return FormPair{portable::FormG, portable::FormR};
  }
  return std::nullopt;
}

}  // namespace hearth::forms
