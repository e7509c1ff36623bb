// The engine around one model: sessions in front, the continuous batch behind, the driver between them. Knows tokens, not
// text, files or sockets.
//
// A request is checked and planned when its session is opened, waits in the queue, is prepared and decoded together
// with the others, and reaches its reader through the session. The answer is the one that the request gives alone, bit by bit.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "contracts/execution.h"
#include "contracts/timer.h"
#include "engine/engine_gauges.h"
#include "engine/session.h"
#include "engine/step_runner.h"
#include "hearth/generation_request.h"
#include "models/language_model.h"
#include "platform/worker_team.h"
#include "sampling/sampler.h"

namespace hearth {

// What the engine works with. All of it outlives the engine.
struct EngineParts {
  boost::asio::any_io_executor executor;  // the engine loop: one handler at a time
  Timer* timer = nullptr;
  StepRunner* steps = nullptr;     // where arithmetic runs
  LanguageModel* model = nullptr;  // used inside steps only
  WorkerTeam* team = nullptr;      // used inside steps only, for sampling
  const SamplingKernels* kernels = nullptr;
  SamplerVocabulary vocabulary;
  // Receives errors that can reach nobody else; may be empty, and must not throw.
  std::function<void(std::exception_ptr)> report;
};

// Every bound of the engine. Units: rows are requests, pages hold kPageTokens tokens each.
struct EngineLimits {
  std::size_t batch = 32;            // rows that are prepared or decoded at once
  std::size_t queue = 64;            // requests that wait; one more is refused with kOverloaded
  std::size_t step_tokens = 256;     // of a forward that carries decode rows and prompt tokens
  std::size_t prefill_tokens = 512;  // of a forward without decode rows
  std::size_t pages = 0;             // of the pool: live rows and prompt cache together; at least 1
  bool prompt_cache = true;
  std::uint64_t collected_tokens = 65'536;  // that collecting sessions may buffer together
  SessionLimits session;
};

// Life:    Close must have ended before the engine is destroyed.
// Threads: the loop only, but gauges(), which any thread may read at any time.
class InferenceEngine {
 public:
  // Errors: kInvalidArgument for limits that cannot work.
  InferenceEngine(EngineParts parts, const EngineLimits& limits);
  ~InferenceEngine();
  InferenceEngine(const InferenceEngine&) = delete;
  InferenceEngine& operator=(const InferenceEngine&) = delete;

  // Opens a session for the request. A stream session starts with its first Next, the others at once.
  // Errors: kInvalidArgument for an empty prompt, a token outside the vocabulary, sampling parameters or a control that
  //         cannot work; kResourceExhausted for what can never fit (context or pages, with both numbers); kOverloaded
  //         when the queue is full; kUnsupported with the plan's reasons; kCancelled once Close was called.
  std::shared_ptr<Session> Open(GenerationRequest request, RunControl control);

  // Cancels every session (kEngineClosed), waits for their outcomes, ends the driver and releases all pages. Later
  // calls wait for the first.
  boost::asio::awaitable<void> Close();

  const EngineGauges& gauges() const;
  const EngineLimits& limits() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
