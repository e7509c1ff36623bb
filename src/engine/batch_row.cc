#include "engine/batch_row.h"

#include <algorithm>
#include <utility>

namespace hearth {

using boost::asio::awaitable;

BatchRow::BatchRow(
    GenerationRequest request,
    AutoregressiveRow made,
    std::uint64_t order,
    std::function<void()> changed
)
    : row(std::move(made)),
      request_(std::move(request)),
      order_(order),
      changed_(std::move(changed)) {
}

awaitable<RowDelivery> BatchRow::Next() {
  while (outbox_.tokens.empty() && !outbox_.prompt_done && !outbox_.end) {
    co_await news_.Wait();
  }
  const bool was_full = reader_full();
  RowDelivery delivery = std::exchange(outbox_, {});
  outbox_.end = delivery.end;  // stays true
  if (was_full) {
    changed_();
  }
  co_return delivery;
}

void BatchRow::Leave() {
  if (!leaving_ && place != RowPlace::kGone) {
    leaving_ = true;
    changed_();
  }
}

awaitable<void> BatchRow::Gone() {
  while (place != RowPlace::kGone) {
    co_await news_.Wait();
  }
}

GenerationMetrics BatchRow::metrics() const {
  const Clock::time_point now = ended_.value_or(Clock::now());
  const auto seconds = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  };
  GenerationMetrics metrics;
  metrics.prompt_tokens = row.prompt().size();
  metrics.cached_prompt_tokens = cached_tokens_;
  metrics.generated_tokens = row.generated();
  metrics.decode_steps = decode_steps_;
  metrics.queue_seconds = seconds(asked_, admitted_.value_or(now));
  if (admitted_) {
    metrics.prefill_seconds = seconds(*admitted_, first_token_.value_or(now));
  }
  if (first_token_) {
    metrics.decode_seconds = seconds(*first_token_, now);
  }
  return metrics;
}

void BatchRow::Admitted(std::size_t cached_tokens) {
  if (!admitted_) {  // not after a preemption
    admitted_ = Clock::now();
    cached_tokens_ = cached_tokens;
  }
}

void BatchRow::Fed() {
  if (row.generated() > 0) {
    decode_steps_ += unfed() == 0 ? 1u : 0u;
    return;
  }
  // A row that gave its pages up computes again what its reader has seen already.
  if (sequence->length() > prompt_done_) {
    prompt_done_ = sequence->length();
    outbox_.prompt_done = prompt_done_;
    news_.NotifyAll();
  }
}

bool BatchRow::Deliver(SampledToken sampled) {
  if (!first_token_) {
    first_token_ = Clock::now();
  }
  if (!row.Take(sampled)) {
    return false;
  }
  outbox_.tokens.push_back(std::move(sampled));
  news_.NotifyAll();
  return true;
}

void BatchRow::End(RowEnd end) {
  sequence.reset();
  place = RowPlace::kGone;
  ended_ = Clock::now();
  outbox_.end = std::move(end);
  news_.NotifyAll();
}

}  // namespace hearth
