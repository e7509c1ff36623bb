// Queue, admission and ends of the execution group. Its steps are in execution_group_steps.cc.
#include "engine/execution_group.h"

#include <algorithm>
#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth {

using boost::asio::awaitable;

namespace {

// Pages of all tokens of the row, and of the one that it will feed after them, if any.
std::size_t PagesOf(const AutoregressiveRow& row) {
  const bool goes_on = row.most_generated() - row.generated() > 1;
  return PagesFor(row.tokens().size() + (goes_on ? 1 : 0));
}

}  // namespace

ContinuousGroup::ContinuousGroup(const GroupParts& parts, const GroupLimits& limits)
    : parts_(parts), limits_(limits) {
}

ContinuousGroup::~ContinuousGroup() = default;

std::shared_ptr<BatchRow> ContinuousGroup::Submit(
    GenerationRequest request, AutoregressiveRow row
) {
  if (closed_) {
    throw Error(ErrorCode::kCancelled, "engine: closed");
  }
  if (queue_.size() >= limits_.waiting) {
    throw Error(
        ErrorCode::kOverloaded,
        "queue: " + std::to_string(queue_.size()) + " requests wait already, wanted fewer than " +
            std::to_string(limits_.waiting)
    );
  }
  auto made = std::make_shared<BatchRow>(std::move(request), std::move(row), next_order_++, [this] {
    Changed();
  });
  queue_.push_back(made);
  Publish();
  Changed();
  return made;
}

void ContinuousGroup::Close() {
  closed_ = true;
  Changed();
}

void ContinuousGroup::Changed() {
  changed_.NotifyAll();
}

awaitable<void> ContinuousGroup::WaitForWork() {
  return changed_.Wait();
}

LeaseRelease ContinuousGroup::ReserveResidency() {
  parts_.gauges->leases.fetch_add(1);
  return [gauges = parts_.gauges] { gauges->leases.fetch_sub(1); };
}

std::size_t ContinuousGroup::active() const {
  return static_cast<std::size_t>(std::ranges::count_if(active_, [](const Row& row) {
    return !row->parked();
  }));
}

// Parked rows keep their places while others run. Where only parked ones are left, there is a place for one who waits.
std::size_t ContinuousGroup::max_active() const {
  const std::size_t parked = active_.size() - active();
  return std::max<std::size_t>(limits_.batch - std::min(limits_.batch, parked), Idle() ? 1 : 0);
}

bool ContinuousGroup::Idle() const {
  return preparing_.empty() && active() == 0;
}

void ContinuousGroup::PruneCancelled() {
  std::vector<Row> leaving;
  const auto collect = [&](const auto& rows) {
    std::ranges::copy_if(rows, std::back_inserter(leaving), [](const Row& row) {
      return row->leaving();
    });
  };
  collect(queue_);
  collect(preparing_);
  collect(active_);
  collect(shelved_);
  for (const Row& row : leaving) {
    Remove(row, ReaderLeft{}, true);
  }
  // The moment between steps is also when rows whose readers have read come back.
  for (const Row& row : std::vector(shelved_)) {
    if (!row->reader_full()) {
      std::erase(shelved_, row);
      Requeue(row);
    }
  }
}

// The cached prefix with which the row fits now, if it does: the longest, else its whole pages (a page that is shared in
// part is copied, so that both take room), else none of it.
std::optional<std::size_t> ContinuousGroup::PrefixThatFits(const BatchRow& row) const {
  std::size_t free = parts_.pool->available();
  // What the rows in preparation will still take, and a page for each row that decodes. Parked rows give theirs up.
  std::size_t promised = 0;
  for (const Row& other : active_) {
    other->parked() ? free += other->sequence->pages() : promised += 1;
  }
  for (const Row& other : preparing_) {
    const std::size_t pages = PagesOf(other->row);
    promised += pages - std::min(pages, other->sequence->pages());
  }
  const PromptCache& cache = *parts_.cache;
  const std::size_t match = cache.Match(row.request(), row.row.tokens());
  for (const std::size_t prefix : {match, match / kPageTokens * kPageTokens, std::size_t{0}}) {
    const std::size_t fresh = PagesOf(row.row) - prefix / kPageTokens;
    if (fresh + promised <= free + cache.EvictableBeside(row.request(), row.row.tokens(), prefix)) {
      return prefix;
    }
  }
  return std::nullopt;
}

ContinuousGroup::Row ContinuousGroup::YoungestParked() const {
  const auto found =
      std::find_if(active_.rbegin(), active_.rend(), [](const Row& row) { return row->parked(); });
  return found == active_.rend() ? nullptr : *found;
}

// Whether a row in preparation computes a beginning of this prompt that is not cached yet: then it is cheaper to wait.
bool ContinuousGroup::WaitsForPreparation(const BatchRow& row) const {
  const GenerationRequest& request = row.request();
  if (!limits_.prompt_cache || !request.use_cache || request.ComputesWholePrompt()) {
    return false;
  }
  const std::span<const TokenId> tokens = row.row.tokens();
  std::optional<std::size_t> match;
  for (const Row& other : preparing_) {
    if (!other->request().use_cache || other->request().cache_space != request.cache_space) {
      continue;
    }
    const std::span<const TokenId> theirs = other->row.tokens();
    const std::size_t common =
        static_cast<std::size_t>(std::ranges::mismatch(tokens, theirs).in1 - tokens.begin());
    const std::size_t pages = std::min(common, tokens.size() - 1) / kPageTokens;
    if (pages == 0) {
      continue;
    }
    if (!match) {
      match = parts_.cache->Match(request, tokens);
    }
    if (pages * kPageTokens > *match) {
      return true;
    }
  }
  return false;
}

bool ContinuousGroup::CanBurst() {
  return !queue_.empty() && !queue_.front()->leaving() && !blocked_ &&
         !WaitsForPreparation(*queue_.front()) && PrefixThatFits(*queue_.front()).has_value();
}

bool ContinuousGroup::AdmitNext() {
  const Row row = queue_.front();
  if (WaitsForPreparation(*row)) {
    return false;
  }
  if (Idle() && active_.size() >= limits_.batch) {
    Preempt(YoungestParked());
  }
  std::optional<std::size_t> prefix = PrefixThatFits(*row);
  if (!prefix && Idle()) {
    // All that parked rows hold, and what is cached before it, is as good as free: their readers may never read.
    while (const Row parked = YoungestParked()) {
      Preempt(parked);
    }
    prefix = PrefixThatFits(*row);
  }
  if (!prefix) {
    blocked_ = true;
    return false;
  }
  row->sequence.emplace(parts_.cache->Take(row->request(), row->row.tokens(), *prefix));
  row->Admitted(row->sequence->length());
  row->place = RowPlace::kPreparing;
  queue_.pop_front();
  InsertByOrder(preparing_, row);
  Publish();
  return true;
}

std::size_t ContinuousGroup::preparing_tokens() const {
  std::size_t tokens = 0;
  for (const Row& row : preparing_) {
    tokens += row->unfed();
  }
  return tokens;
}

std::size_t ContinuousGroup::next_preparation_tokens() const {
  if (queue_.empty()) {
    return 0;
  }
  const std::size_t tokens = queue_.front()->row.tokens().size();
  return tokens - parts_.cache->Match(queue_.front()->request(), queue_.front()->row.tokens());
}

// Puts the row into the queue, by its order.
void ContinuousGroup::Requeue(const Row& row) {
  row->place = RowPlace::kQueued;
  InsertByOrder(queue_, row);
  blocked_ = false;  // the head may be another
}

// Lets later rows begin with the first `tokens` tokens that this row has computed.
void ContinuousGroup::CachePrefix(BatchRow& row, std::size_t tokens) {
  parts_.cache->Put(row.request(), row.row.tokens().first(tokens), *row.sequence);
}

void ContinuousGroup::Remove(const Row& row, RowEnd end, bool cache) {
  if (row->place == RowPlace::kGone) {
    return;
  }
  if (cache && row->sequence) {
    CachePrefix(*row, row->sequence->length());
  }
  std::erase(queue_, row);
  std::erase(preparing_, row);
  std::erase(active_, row);
  std::erase(shelved_, row);
  row->End(std::move(end));
  blocked_ = false;
  Publish();
}

void ContinuousGroup::FailRows(std::vector<Row> rows, const std::exception_ptr& error) {
  for (const Row& row : rows) {
    Remove(row, error, false);
  }
}

void ContinuousGroup::FailActive(std::exception_ptr error) {
  std::vector<Row> rows;
  std::ranges::copy_if(active_, std::back_inserter(rows), [](const Row& row) {
    return !row->parked();
  });
  FailRows(std::move(rows), error);
}

void ContinuousGroup::FailMixed(std::exception_ptr error) {
  FailActive(error);
  FailRows(preparing_, error);
}

void ContinuousGroup::FailAll(std::exception_ptr error) {
  closed_ = true;
  FailRows(active_, error);
  FailRows(preparing_, error);
  FailRows(shelved_, error);
  FailRows({queue_.begin(), queue_.end()}, error);
}

void ContinuousGroup::Publish() {
  EngineGauges& gauges = *parts_.gauges;
  const std::size_t running = active();
  gauges.queued = queue_.size();
  gauges.preparing = preparing_.size();
  gauges.active = running;
  gauges.parked = active_.size() - running + shelved_.size();
  gauges.pages_used = parts_.pool->used();
}

}  // namespace hearth
