// The llama family: pre-norm decoder with rotary positions, grouped-query attention and a gated feed-forward
// network. Tensor names and row order are those of GGUF (query and key rows permuted so that rotary
// pairs are neighbours).
#pragma once

#include <memory>

#include "formats/llama_config.h"
#include "models/language_model.h"
#include "models/weight_source.h"
#include "tensor/backend.h"

namespace hearth {

// Builds the model and packs its weights; the source may go afterwards, but for the embedding table, whose view
// it keeps reading: so the source outlives the model.
// Ownership: borrows source and backend, which outlive the model.
// Errors:    kCorruptData naming the tensor for a missing one or a wrong shape; kUnsupported for tensors that
//            this family does not know (nothing is silently left out) and for heads beyond the kernels' limits.
std::unique_ptr<LanguageModel> MakeLlama(
    const LlamaConfig& config, const WeightSource& source, Backend& backend
);

}  // namespace hearth
