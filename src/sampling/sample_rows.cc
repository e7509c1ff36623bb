#include "sampling/sample_rows.h"

#include <cstddef>

namespace hearth {

std::vector<RowOutcome> SampleRows(std::span<const SampleRow> rows, WorkerTeam& team) {
  std::vector<RowOutcome> outcomes(rows.size());
  team.ForRanges(rows.size(), 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      const SampleRow& row = rows[i];
      try {
        outcomes[i].sampled = row.sampler->Sample(row.logits, row.history, row.step);
      } catch (...) {
        outcomes[i].error = std::current_exception();
      }
    }
  });
  return outcomes;
}

}  // namespace hearth
