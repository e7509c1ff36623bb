#include "engine/batch_step.h"

#include <algorithm>
#include <utility>

#include "sampling/score_token.h"

namespace hearth {

void BatchStep::Add(std::shared_ptr<BatchRow> row, std::size_t count) {
  ForwardRow forward = row->row.Feed(*row->sequence, count);
  const bool samples = forward.logits == LogitSelection::kLast;
  if (row->request().ComputesWholePrompt() && row->row.generated() == 0) {
    forward.logits = LogitSelection::kAll;
  }
  parts_.push_back({std::move(row), forward, samples});
}

bool BatchStep::Holds(const BatchRow& row) const {
  return std::ranges::any_of(parts_, [&](const Part& part) { return part.row.get() == &row; });
}

namespace {

TokenLogprobs ScoreOf(
    const StepParts& with, std::span<const float> logits, TokenId token, std::size_t top
) {
  const SampledToken scored = ScoreToken(logits, token, top, with.vocabulary, *with.kernels);
  TokenLogprobs result;
  result.logprob = static_cast<float>(*scored.logprob);
  result.top.emplace();
  for (const TokenLogprob& other : scored.top_logprobs) {
    result.top->push_back({other.token, static_cast<float>(other.logprob)});
  }
  return result;
}

}  // namespace

// What the sinks of a row want of its prompt's positions from `first` on; logits [tokens, width].
void BatchStep::ShowPrompt(
    const StepParts& with, Part& part, std::size_t first, std::span<const float> logits
) {
  BatchRow& row = *part.row;
  const GenerationRequest& request = row.request();
  const std::size_t count = part.forward.tokens.size();
  const std::size_t width = logits.size() / count;
  // A row that lost its pages does not show a position twice.
  std::size_t& shown = row.prompt_logits_shown;
  const std::size_t begin = shown > first ? std::min(shown - first, count) : 0;
  try {
    std::vector<TokenLogprobs> scores(count);
    if (request.prompt_scores) {
      const std::span<const TokenId> prompt = row.row.prompt();
      const std::size_t scored = std::min(count, prompt.size() - 1 - first);
      std::vector<std::exception_ptr> errors(count);
      with.team->ForRanges(scored, 1, [&](std::size_t from, std::size_t to, int) {
        for (std::size_t i = from; i < to; ++i) {
          try {
            scores[i] = ScoreOf(
                with,
                logits.subspan(i * width, width),
                prompt[first + i + 1],
                request.prompt_scores_top
            );
          } catch (...) {
            errors[i] = std::current_exception();
          }
        }
      });
      for (const std::exception_ptr& error : errors) {
        if (error) {
          std::rethrow_exception(error);
        }
      }
    }
    for (std::size_t i = begin; i < count; ++i) {
      shown = first + i + 1;
      if (request.prompt_logits) {
        request.prompt_logits(first + i, logits.subspan(i * width, width));
      }
      if (request.prompt_scores && shown < row.row.prompt().size()) {
        request.prompt_scores(shown, scores[i]);
      }
    }
  } catch (...) {
    part.outcome.error = std::current_exception();
  }
}

void BatchStep::Compute(const StepParts& with, std::vector<float>& logits) {
  std::vector<ForwardRow> forwards;
  std::vector<std::size_t> first_positions;
  for (const Part& part : parts_) {
    forwards.push_back(part.forward);
    first_positions.push_back(part.forward.sequence->length());
  }
  const std::size_t width = with.model->facts().vocabulary;
  const std::size_t needed = LanguageModel::SelectedLogits(forwards) * width;
  if (logits.size() < needed) {
    logits.resize(needed);
  }
  with.model->Forward(forwards, logits.data());

  std::vector<SampleRow> choices;
  std::vector<Part*> choosers;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    Part& part = parts_[i];
    const std::size_t selected = LanguageModel::SelectedLogits({&forwards[i], 1}) * width;
    const std::span<float> own = std::span(logits).subspan(at, selected);
    at += selected;
    if (part.forward.logits == LogitSelection::kAll) {
      ShowPrompt(with, part, first_positions[i], own);
    }
    if (part.samples && !part.outcome.error) {
      choices.push_back(part.row->row.Choose(own.last(width)));
      choosers.push_back(&part);
    }
  }
  std::vector<RowOutcome> outcomes = SampleRows(choices, *with.team);
  for (std::size_t i = 0; i < choosers.size(); ++i) {
    choosers[i]->outcome = std::move(outcomes[i]);
  }
}

}  // namespace hearth
