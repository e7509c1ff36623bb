#include "forms/avx512/simd_internal.h"
#include "forms/vector_forms_internal.h"

namespace hearth::forms::avx512 {

void FormG(const FormArgs& args) {
  RunVectorForm<Avx512Forms, Form::kG>(args);
}

void FormR(const FormArgs& args) {
  RunVectorForm<Avx512Forms, Form::kR>(args);
}

}  // namespace hearth::forms::avx512
