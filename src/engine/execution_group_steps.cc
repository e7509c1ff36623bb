// Steps of the execution group: which tokens go into a forward, where their pages come from, and what becomes of the rows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/execution_group.h"

namespace hearth {

using boost::asio::awaitable;

namespace {

// Positions whose logits one forward may give to sinks: a vocabulary each.
constexpr std::size_t kMostPromptLogits = 64;

// The work of `count` tokens from position `first` on, in tokens at position 0.
double WorkOf(double count, double first, std::size_t break_even) {
  return break_even == 0 ? count
                         : count * (1 + (first + count / 2) / static_cast<double>(break_even));
}

// The most tokens from position `first` on whose work is at most `budget`, but at least one.
std::size_t TokensWorth(double budget, double first, std::size_t break_even) {
  if (break_even == 0) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(budget));
  }
  const double even = static_cast<double>(break_even);
  const double count =
      std::sqrt((even + first) * (even + first) + 2 * even * budget) - even - first;
  return std::max<std::size_t>(1, static_cast<std::size_t>(count));
}

}  // namespace

awaitable<void> ContinuousGroup::Advance() {
  return Run(true, 0);
}

awaitable<void> ContinuousGroup::AdvanceMixed(std::size_t budget) {
  return Run(true, budget - std::min(budget, active()));
}

awaitable<void> ContinuousGroup::AdvancePreparation() {
  std::exception_ptr error;
  try {
    co_await Run(false, limits_.prefill_tokens);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    FailRows(preparing_, error);
  }
}

awaitable<void> ContinuousGroup::Run(bool with_active, std::size_t prompt_tokens) {
  BatchStep step = Compose(with_active, prompt_tokens);
  if (step.empty()) {
    co_return;
  }
  std::function<void()> work = [this, &step] { step.Compute(parts_.compute, logits_); };
  co_await parts_.steps->Run(std::move(work));
  Settle(step);
}

BatchStep ContinuousGroup::Compose(bool with_active, std::size_t prompt_tokens) {
  // Oldest first, so that whoever must give its pages up has not got its tokens yet.
  std::vector<Row> rows = preparing_;
  if (with_active) {
    std::ranges::copy_if(active_, std::back_inserter(rows), [](const Row& row) {
      return !row->parked();
    });
  }
  std::ranges::sort(rows, {}, [](const Row& row) { return row->order(); });
  // Those who decode wait for the step, so it counts work: far into a prompt tokens are dear. Without them it counts
  // tokens.
  const std::size_t break_even =
      with_active ? parts_.compute.model->facts().attention_break_even : 0;
  double budget = static_cast<double>(prompt_tokens);
  BatchStep step;
  std::size_t prompt_logits = kMostPromptLogits;
  for (const Row& row : rows) {
    if (row->leaving() || !row->sequence) {
      continue;  // the latter has given its pages up to one before it
    }
    const bool preparing = row->place == RowPlace::kPreparing;
    const double first = static_cast<double>(row->sequence->length());
    std::size_t count = 1;
    if (preparing) {
      if (budget < 1) {
        continue;
      }
      count = std::min(row->unfed(), TokensWorth(budget, first, break_even));
      if (row->request().ComputesWholePrompt()) {
        count = std::min(count, prompt_logits);
        prompt_logits -= count;
      }
      if (count == 0) {
        continue;
      }
    }
    if (!TakePages(*row, count, step)) {
      Preempt(row);
      continue;
    }
    if (preparing) {
      budget -= WorkOf(static_cast<double>(count), first, break_even);
    }
    step.Add(row, count);
  }
  return step;
}

// Pages for the row's next tokens: free ones, else cached ones, else those of rows that must wait for this one.
bool ContinuousGroup::TakePages(BatchRow& row, std::size_t tokens, const BatchStep& step) {
  const std::size_t needed = row.sequence->PagesToReserve(tokens);
  while (needed > parts_.pool->available()) {
    const std::size_t lacking = needed - parts_.pool->available();
    if (parts_.cache->MakeRoom(lacking) > 0) {
      continue;
    }
    const Row victim = Victim(row, step);
    if (victim == nullptr) {
      return false;
    }
    Preempt(victim);
  }
  row.sequence->Reserve(tokens);
  return true;
}

// Who must give its pages up for `row`: a parked row, else one that is younger; the youngest of them.
ContinuousGroup::Row ContinuousGroup::Victim(const BatchRow& row, const BatchStep& step) const {
  Row victim;
  const auto consider = [&](const Row& other) {
    if (other.get() == &row || other->sequence->pages() == 0) {
      return;
    }
    if (other->parked() || (other->order() > row.order() && !step.Holds(*other))) {
      if (victim == nullptr || std::pair(other->parked(), other->order()) >
                                   std::pair(victim->parked(), victim->order())) {
        victim = other;
      }
    }
  };
  std::ranges::for_each(active_, consider);
  std::ranges::for_each(preparing_, consider);
  return victim;
}

// The row gives its pages up and comes back in its old order; what it has computed stays cached as long as there is
// room.
void ContinuousGroup::Preempt(const Row& row) {
  CachePrefix(*row, row->sequence->length() / kPageTokens * kPageTokens);
  const bool parked = row->parked();
  row->sequence.reset();
  std::erase(preparing_, row);
  std::erase(active_, row);
  if (parked) {
    row->place = RowPlace::kShelved;
    shelved_.push_back(row);
  } else {
    Requeue(row);
  }
  parts_.gauges->preemptions.fetch_add(1);
}

void ContinuousGroup::Settle(BatchStep& step) {
  parts_.gauges->steps.fetch_add(1);
  for (BatchStep::Part& part : step.parts()) {
    SettleRow(part);
  }
  Publish();
}

void ContinuousGroup::SettleRow(BatchStep::Part& part) {
  const Row& row = part.row;
  EngineGauges& gauges = *parts_.gauges;
  row->Fed();
  if (row->place == RowPlace::kPreparing) {
    gauges.prompt_tokens.fetch_add(part.forward.tokens.size());
  }
  if (part.outcome.error) {
    return Remove(row, part.outcome.error, false);
  }
  if (row->unfed() > 0) {
    return;
  }
  if (!part.samples) {
    return Remove(row, FinishReason::kLength, true);  // nothing was asked for but the prompt
  }
  gauges.generated_tokens.fetch_add(1);
  if (!row->Deliver(std::move(part.outcome.sampled))) {
    return Remove(row, FinishReason::kStop, true);
  }
  if (row->row.AtLimit()) {
    return Remove(row, FinishReason::kLength, true);
  }
  if (row->reader_full()) {
    blocked_ = false;  // the pages of a parked row are to be had
  }
  if (row->place == RowPlace::kPreparing) {
    std::erase(preparing_, row);
    row->place = RowPlace::kActive;
    InsertByOrder(active_, row);
    // Whole pages only: the last one is still written.
    CachePrefix(*row, row->sequence->length() / kPageTokens * kPageTokens);
  }
}

}  // namespace hearth
