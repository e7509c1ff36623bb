// From a model to the numbers that the admission model works with.
#pragma once

#include <cstddef>

#include "engine/memory.h"
#include "models/language_model.h"

namespace hearth {

// Facts of a process that runs this model, from a map of `file_bytes`, with a worker team of `members`. What is not the
// model's comes from measurements (model_memory.cc).
MemoryFacts MemoryFactsOf(const ModelFacts& model, std::size_t file_bytes, std::size_t members);

}  // namespace hearth
