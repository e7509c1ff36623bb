// What an operator's tools scrape: the engine's gauges, what requests took, and the names that gateways for vLLM look for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hearth/engine_snapshot.h"
#include "hearth/generation.h"
#include "server/http/http_server.h"

namespace hearth {

// Threads: any; a scrape waits for nobody but other users of one counter.
// Cost:    a scrape writes some hundred lines.
class ServerMetrics {
 public:
  // Where values come from at a scrape; nothing while there is no engine.
  using EngineSource = std::function<std::optional<EngineSnapshot>()>;
  using HttpSource = std::function<HttpCounters()>;

  ServerMetrics(std::string model_id, EngineSource engine, HttpSource http);
  ~ServerMetrics();

  // How many pages there can be; once the engine is there.
  void SetPages(std::uint64_t pages);

  // One choice of an answer has ended. Seconds since the request was complete.
  void Ended(const GenerationMetrics& metrics, std::string_view reason, double seconds);

  void FirstToken(double seconds);
  void BetweenTokens(double seconds);  // from one delivery to the next, a token each

  void Answered(std::string_view path, int status, std::chrono::microseconds duration);

  // In Prometheus' text format.
  std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
