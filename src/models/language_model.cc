#include "models/language_model.h"

namespace hearth {

std::size_t LanguageModel::SelectedLogits(std::span<const ForwardRow> rows) {
  std::size_t count = 0;
  for (const ForwardRow& row : rows) {
    switch (row.logits) {
      case LogitSelection::kNone:
        break;
      case LogitSelection::kLast:
        count += 1;
        break;
      case LogitSelection::kAll:
        count += row.tokens.size();
        break;
    }
  }
  return count;
}

}  // namespace hearth
