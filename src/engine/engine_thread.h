// The engine on threads of its own, to be used from any other: the loop, the steps beside it, and the way between them and
// the program. Here and in the step runner is where threads meet; everything behind runs on the loop without locks.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "engine/engine_gauges.h"
#include "engine/inference_engine.h"
#include "hearth/engine_snapshot.h"
#include "hearth/generation_handle.h"
#include "hearth/generation_request.h"
#include "models/language_model.h"
#include "platform/worker_team.h"
#include "sampling/sampler.h"

namespace hearth {

EngineSnapshot Snapshot(const EngineGauges& gauges);

// What the engine computes with. model, team and kernels outlive it and, while requests are open, serve nobody else.
struct ComputeParts {
  LanguageModel* model = nullptr;
  WorkerTeam* team = nullptr;
  const SamplingKernels* kernels = nullptr;
  SamplerVocabulary vocabulary{};
  // Receives errors that can reach nobody else, on any thread; may be empty.
  std::function<void(std::exception_ptr)> report{};
};

// Ownership: owns the loop's thread, the thread of the steps, and the InferenceEngine. The destructor closes, ends the loop
//            after everything that was asked of it before, and joins; never on the engine's own thread.
// Threads:   any.
class EngineThread {
 public:
  // Errors: those of InferenceEngine, and kResourceExhausted when the system starts no thread.
  EngineThread(const ComputeParts& parts, const EngineLimits& limits);
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // Errors: those of InferenceEngine::Open, given to `done` with a handle of nothing.
  void Open(GenerationRequest request, Delivery delivery, Completion<GenerationHandle> done);

  // Cancels every request (kEngineClosed), waits until all have ended, and releases all pages. Then nothing can be
  // opened; handles still give what they hold. Again and at once from several threads: each waits for the same end.
  // Errors: those of InferenceEngine::Close; kInvalidArgument on the engine's own thread, which cannot wait for itself.
  void Close();

  EngineSnapshot Gauges() const;

  const EngineLimits& limits() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
