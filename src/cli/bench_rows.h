// `hearth bench --rows`: what the model does with rows that run together, without the engine around it.
#pragma once

#include <cstddef>
#include <vector>

#include "hearth/token.h"
#include "kv/page_pool.h"
#include "library/loaded_model.h"

namespace hearth {

inline constexpr std::size_t kRowsPrefillTokens = 512;  // prompt tokens of one forward

// Tokens per second of one run.
struct RowsSpeed {
  double prefill;
  double decode;
  double whole;  // generated, over prefill and decode together
};

// Prefills each prompt on its own (all are of one length), then decodes `gen` tokens of each, all together, greedily.
// Errors: those of Forward and Sample.
RowsSpeed MeasureRows(
    LoadedModel& loaded,
    PagePool& pool,
    const std::vector<std::vector<TokenId>>& prompts,
    std::size_t gen
);

}  // namespace hearth
