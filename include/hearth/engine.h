// hearth for programs that embed it: a model, opened to answer many requests at once.
//
//   hearth::Engine engine({.model = "smollm2"});
//   const auto prompt = engine.text().ChatPrompt({{{"user", "What is the capital of France?"}}});
//   engine.Open(engine.MakeRequest(prompt), {}, [](std::exception_ptr error, hearth::GenerationHandle answer) { ... });
//
// Answers come through functions that the engine calls. hearth/awaitable.h awaits them on Asio, hearth/blocking.h waits for
// them; docs/examples has a whole program. An answer depends on the model, the prompt, the sampling parameters, the seed
// and EngineOptions::numerics, and on nothing else that runs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hearth/engine_options.h"
#include "hearth/engine_snapshot.h"
#include "hearth/generation_handle.h"
#include "hearth/generation_request.h"
#include "hearth/model_info.h"
#include "hearth/model_text.h"
#include "hearth/sampling_parameters.h"
#include "hearth/token.h"

namespace hearth {

class LoadedModel;

// Ownership: owns the model, its cache, one thread that the engine's state belongs to, one that leads the steps, and the
//            workers. The destructor closes.
// Threads:   any, for everything; the destructor and Close not from within a Completion or TokenCallback. The engine's
//            threads take no signals.
// Errors:    hearth::Error (hearth/error.h), one line each.
class Engine {
 public:
  // Opens the model; takes as long as reading and packing its weights.
  // Errors: kNotFound, kCorruptData, kUnsupported for the file; kInvalidArgument for options that cannot work;
  //         kResourceExhausted when memory or threads are missing.
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const ModelInfo& model() const;

  // Errors: what ModelText::Open says of the model's tokenizer; requests of tokens work without one.
  const ModelText& text() const;

  // A request with what the model and the caller's sampling say: the stop tokens, and the seed, a fresh one when
  // sampling.seed has none. `choice` counts several answers to one prompt: each draws on its own.
  // Errors: kIo when the system has no random numbers.
  GenerationRequest MakeRequest(
      std::vector<TokenId> prompt, SamplingParameters sampling = {}, std::uint32_t choice = 0
  ) const;

  // Opens a request and gives its handle to `done`. A stream starts with its first Next, the others at once.
  // Errors: kInvalidArgument for an empty prompt, tokens outside the vocabulary, sampling parameters or a delivery
  //         that cannot work; kResourceExhausted for what can never fit, with both numbers; kOverloaded when the queue
  //         is full; kUnsupported with the reasons; kCancelled once the engine was closed.
  void Open(GenerationRequest request, Delivery delivery, Completion<GenerationHandle> done);

  // Cancels every request (kEngineClosed), waits until all have ended, and gives back what they held. Afterwards nothing
  // can be opened; handles still give the events and outcomes that there are. May be called again.
  void Close();

  // At any moment, without waiting for the engine.
  EngineSnapshot Gauges() const;

 private:
  friend LoadedModel& LoadedModelOf(Engine& engine);  // library/loaded_model.h
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
