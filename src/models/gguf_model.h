// From a GGUF file to a model: which family its architecture names.
#pragma once

#include <memory>

#include "formats/gguf.h"
#include "models/language_model.h"
#include "models/weight_source.h"
#include "tensor/backend.h"

namespace hearth {

// Ownership: borrows weights and backend, which outlive the model; the file may go.
// Errors:    kUnsupported for an architecture, or an option of one, that hearth does not know, naming it; those
//            of the family.
std::unique_ptr<LanguageModel> MakeGgufModel(
    const GgufFile& file, const WeightSource& weights, Backend& backend
);

// The facts of the model that MakeGgufModel would make on the processor's backend with a team of `members`; the matrices are
// not read.
// Errors: those of MakeGgufModel.
ModelFacts GgufModelFacts(
    const GgufFile& file, const WeightSource& weights, Numerics numerics, std::size_t members
);

}  // namespace hearth
