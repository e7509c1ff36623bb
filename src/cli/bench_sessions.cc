#include "cli/bench_sessions.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "hearth/blocking.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

struct Arrival {
  Clock::time_point time;
  std::size_t tokens;
};

// Reads one stream to its end. Its functions run on the engine's thread until `ended` is set.
class Reader {
 public:
  explicit Reader(GenerationHandle handle) : handle_(std::move(handle)) {}

  void Read() {
    handle_.Next([this](std::exception_ptr error, std::optional<GenerationEvent> event) {
      if (error) {
        ended_.set_exception(std::move(error));
        return;
      }
      if (!event) {
        ended_.set_value();
        return;
      }
      if (const auto* committed = std::get_if<CommittedTokens>(&*event)) {
        arrivals_.push_back({Clock::now(), committed->token_ids.size()});
      }
      Read();
    });
  }

  // Waits for the end. Errors: of a request that was not completed.
  const std::vector<Arrival>& Arrivals() {
    ended_.get_future().get();
    blocking::Completed(blocking::Result(handle_));
    return arrivals_;
  }

 private:
  GenerationHandle handle_;
  std::vector<Arrival> arrivals_;
  std::promise<void> ended_;
};

double Seconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Tokens a second between the last first token and the first last one.
double DecodeSpeed(const std::vector<const std::vector<Arrival>*>& all) {
  Clock::time_point begin = Clock::time_point::min();
  Clock::time_point end = Clock::time_point::max();
  for (const std::vector<Arrival>* arrivals : all) {
    begin = std::max(begin, arrivals->front().time);
    end = std::min(end, arrivals->back().time);
  }
  std::size_t tokens = 0;
  for (const std::vector<Arrival>* arrivals : all) {
    for (const Arrival& arrival : *arrivals) {
      tokens += arrival.time > begin && arrival.time <= end ? arrival.tokens : 0;
    }
  }
  return end > begin ? static_cast<double>(tokens) / Seconds(begin, end) : 0;
}

}  // namespace

SessionsSpeed MeasureSessions(
    Engine& engine, const std::vector<std::vector<TokenId>>& prompts, std::size_t gen
) {
  std::vector<std::unique_ptr<Reader>> readers;
  for (const std::vector<TokenId>& prompt : prompts) {
    GenerationRequest request = engine.MakeRequest(prompt);
    request.stop_tokens.clear();
    request.max_tokens = gen;
    request.use_cache = false;
    readers.push_back(std::make_unique<Reader>(blocking::Open(engine, std::move(request))));
  }
  const Clock::time_point start = Clock::now();
  for (const std::unique_ptr<Reader>& reader : readers) {
    reader->Read();
  }
  std::vector<const std::vector<Arrival>*> all;
  std::vector<double> first;
  Clock::time_point last = start;
  for (const std::unique_ptr<Reader>& reader : readers) {
    const std::vector<Arrival>& arrivals = reader->Arrivals();
    all.push_back(&arrivals);
    first.push_back(Seconds(start, arrivals.front().time));
    last = std::max(last, arrivals.back().time);
  }
  std::ranges::sort(first);
  return {
      .tokens_per_second = static_cast<double>(prompts.size() * gen) / Seconds(start, last),
      .first_token_median = first[first.size() / 2],
      .first_token_most = first.back(),
      .decode_per_second = DecodeSpeed(all),
  };
}

}  // namespace hearth
