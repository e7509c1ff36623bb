// One request in the execution group: its tokens and pages on the group's side, and a small outbox towards its reader.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "engine/condition.h"
#include "hearth/generation.h"
#include "hearth/generation_request.h"
#include "kv/sequence.h"
#include "methods/autoregressive.h"

namespace hearth {

// How a row ended: by itself, because its reader left, or with an error.
struct ReaderLeft {};

using RowEnd = std::variant<FinishReason, ReaderLeft, std::exception_ptr>;

// What has come for the reader since it last looked.
struct RowDelivery {
  std::vector<SampledToken> tokens;        // in order
  std::optional<std::size_t> prompt_done;  // prompt tokens computed by now, when that has grown
  std::optional<RowEnd> end;  // nothing comes after it, and the row holds nothing any more
};

// Where a row is; only the group moves it.
enum class RowPlace {
  kQueued,
  kPreparing,
  kActive,
  kShelved,  // parked, and its pages were needed elsewhere: it queues again when its reader has read
  kGone,
};

// Ownership: shared by the group and the reader; whoever is last ends it. Its pages are the group's and gone when it is.
// Threads:   the engine loop. While a step runs nothing but the outbox's reading side may be used.
class BatchRow {
 public:
  // Tokens that wait for the reader; from there on the row is parked until the reader has taken them. A few, so that
  // a reader who is a turn of the loop late does not cost a step.
  static constexpr std::size_t kOutboxTokens = 8;

  // `order` counts requests: a lower one came earlier. `changed` tells the group that the reader has done something.
  BatchRow(
      GenerationRequest request,
      AutoregressiveRow row,
      std::uint64_t order,
      std::function<void()> changed
  );

  // The reader's side. One Next at a time; it waits until there is something.
  boost::asio::awaitable<RowDelivery> Next();

  // The reader wants no more: the group ends the row after the step that runs now.
  void Leave();

  // Waits until the group has let go of the row.
  boost::asio::awaitable<void> Gone();

  GenerationMetrics metrics() const;

  // The group's side.
  const GenerationRequest& request() const { return request_; }

  std::uint64_t order() const { return order_; }

  bool leaving() const { return leaving_; }

  bool reader_full() const { return outbox_.tokens.size() >= kOutboxTokens; }

  bool parked() const { return place == RowPlace::kActive && reader_full(); }

  std::size_t unfed() const { return row.Unfed(*sequence); }

  void Admitted(std::size_t cached_tokens);
  void Fed();                          // the step that has ended fed some of its tokens
  bool Deliver(SampledToken sampled);  // false: it was a stop token
  void End(RowEnd end);                // releases the pages

  AutoregressiveRow row;
  std::optional<KvSequence> sequence;  // from admission until the end or a preemption
  RowPlace place = RowPlace::kQueued;
  std::size_t prompt_logits_shown = 0;  // positions that the sink has seen

 private:
  using Clock = std::chrono::steady_clock;

  GenerationRequest request_;
  std::uint64_t order_;
  std::function<void()> changed_;
  bool leaving_ = false;
  RowDelivery outbox_;
  Condition news_;
  std::size_t prompt_done_ = 0;  // the most that the reader was told
  std::size_t cached_tokens_ = 0;
  std::size_t decode_steps_ = 0;
  Clock::time_point asked_ = Clock::now();
  std::optional<Clock::time_point> admitted_, first_token_, ended_;
};

}  // namespace hearth
