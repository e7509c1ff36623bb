#include "engine/batch_step.h"

#include <algorithm>
#include <utility>

namespace hearth {

void BatchStep::Add(std::shared_ptr<BatchRow> row, std::size_t count) {
  ForwardRow forward = row->row.Feed(*row->sequence, count);
  const bool samples = forward.logits == LogitSelection::kLast;
  if (row->request().prompt_logits && row->row.generated() == 0) {
    forward.logits = LogitSelection::kAll;
  }
  parts_.push_back({std::move(row), forward, samples});
}

bool BatchStep::Holds(const BatchRow& row) const {
  return std::ranges::any_of(parts_, [&](const Part& part) { return part.row.get() == &row; });
}

void BatchStep::GiveLogits(
    Part& part, std::span<const float> logits, std::size_t first, std::size_t width
) {
  try {
    // A row that lost its pages does not show a position twice.
    std::size_t& shown = part.row->prompt_logits_shown;
    for (std::size_t i = shown > first ? shown - first : 0; i < part.forward.tokens.size(); ++i) {
      part.row->request().prompt_logits(first + i, logits.subspan(i * width, width));
      shown = first + i + 1;
    }
  } catch (...) {
    part.outcome.error = std::current_exception();
  }
}

void BatchStep::Compute(LanguageModel& model, WorkerTeam& team, std::vector<float>& logits) {
  std::vector<ForwardRow> forwards;
  std::vector<std::size_t> first_positions;
  for (const Part& part : parts_) {
    forwards.push_back(part.forward);
    first_positions.push_back(part.forward.sequence->length());
  }
  const std::size_t width = model.facts().vocabulary;
  const std::size_t needed = LanguageModel::SelectedLogits(forwards) * width;
  if (logits.size() < needed) {
    logits.resize(needed);
  }
  model.Forward(forwards, logits.data());

  std::vector<SampleRow> choices;
  std::vector<Part*> choosers;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    const std::size_t selected = LanguageModel::SelectedLogits({&forwards[i], 1}) * width;
    const std::span<float> own = std::span(logits).subspan(at, selected);
    at += selected;
    if (part.forward.logits == LogitSelection::kAll) {
      GiveLogits(part, own, first_positions[i], width);
    }
    if (part.samples && !part.outcome.error) {
      choices.push_back(part.row->row.Choose(own.last(width)));
      choosers.push_back(&part);
    }
  }
  std::vector<RowOutcome> outcomes = SampleRows(choices, team);
  for (std::size_t i = 0; i < choosers.size(); ++i) {
    choosers[i]->outcome = std::move(outcomes[i]);
  }
}

}  // namespace hearth
