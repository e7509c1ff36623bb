// hearth for programs without an event loop: calls that wait for their answer. Everything here is made of hearth/engine.h and
// needs no Asio.
//
//   hearth::Engine engine({.model = "smollm2"});
//   std::string answer = hearth::blocking::Ask(engine, {{"user", "What is the capital of France?"}});
//
// Threads: any but the engine's own (from within a Completion or TokenCallback these calls would wait for ever). Several
//          threads may ask one engine at once: it answers them together.
// Errors:  those of the functions of the same name in hearth/engine.h and hearth/generation_handle.h, thrown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/engine.h"
#include "hearth/error.h"
#include "hearth/generation.h"

namespace hearth::blocking {

// Starts something that answers through a Completion, and waits for the answer.
template <class T>
T Wait(const std::function<void(Completion<T>)>& start) {
  // Shared: the engine may still be inside the call that gives the answer when the caller has it already.
  const auto answer = std::make_shared<std::promise<T>>();
  start([answer](std::exception_ptr error, T value) {
    error ? answer->set_exception(std::move(error)) : answer->set_value(std::move(value));
  });
  return answer->get_future().get();
}

inline GenerationHandle Open(Engine& engine, GenerationRequest request, Delivery delivery = {}) {
  return Wait<GenerationHandle>([&](Completion<GenerationHandle> done) {
    engine.Open(std::move(request), std::move(delivery), std::move(done));
  });
}

inline std::optional<GenerationEvent> Next(const GenerationHandle& handle) {
  return Wait<std::optional<GenerationEvent>>([&](Completion<std::optional<GenerationEvent>> done) {
    handle.Next(std::move(done));
  });
}

inline GenerationOutcome Result(const GenerationHandle& handle) {
  return Wait<GenerationOutcome>([&](Completion<GenerationOutcome> done) {
    handle.Result(std::move(done));
  });
}

// What a completed answer came to.
// Errors: kCancelled with the reason, kInternal with the message of one that failed.
inline const MethodResult& Completed(const GenerationOutcome& outcome) {
  if (const auto* cancelled = std::get_if<GenerationOutcome::Cancelled>(&outcome.end)) {
    throw Error(
        ErrorCode::kCancelled,
        "answer: cancelled, " + std::string(CancelReasonName(cancelled->reason))
    );
  }
  if (const auto* failed = std::get_if<GenerationOutcome::Failed>(&outcome.end)) {
    throw Error(ErrorCode::kInternal, "answer: failed, " + failed->message);
  }
  return std::get<GenerationOutcome::Completed>(outcome.end).result;
}

// One answer while it comes: tokens in a loop,
//   for (const hearth::CommittedTokens& tokens : answer) { ... }
// or its text with NextPiece; not both. The engine outlives it; dropping it cancels what is left.
// Threads: one reader; Cancel from any thread.
class Answer {
 public:
  Answer(Engine& engine, GenerationRequest request)
      : engine_(engine), handle_(Open(engine, std::move(request))) {}

  // The tokens that came since the last call (at least one), or nothing at the end.
  std::optional<CommittedTokens> NextTokens() {
    while (std::optional<GenerationEvent> event = Next(handle_)) {
      if (auto* tokens = std::get_if<CommittedTokens>(&*event)) {
        return std::move(*tokens);
      }
    }
    return std::nullopt;
  }

  // The next text, whole characters and never empty, or nothing at the end.
  // Errors: besides, those of Engine::text.
  std::optional<std::string> NextPiece() {
    if (!text_) {
      text_.emplace(engine_.text().Stream());
    }
    while (std::optional<CommittedTokens> tokens = NextTokens()) {
      if (std::string piece = text_->Push(tokens->token_ids); !piece.empty()) {
        return piece;
      }
    }
    std::string rest = text_->Finish();
    return rest.empty() ? std::nullopt : std::optional(std::move(rest));
  }

  // Once everything was read, or Cancel was called.
  GenerationOutcome Outcome() const { return Result(handle_); }

  void Cancel() const { handle_.Cancel(); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = CommittedTokens;
    using difference_type = std::ptrdiff_t;
    using pointer = const CommittedTokens*;
    using reference = const CommittedTokens&;

    reference operator*() const { return *tokens_; }

    pointer operator->() const { return &*tokens_; }

    Iterator& operator++() {
      tokens_ = answer_->NextTokens();
      return *this;
    }

    void operator++(int) { ++*this; }

    friend bool operator==(const Iterator& iterator, std::default_sentinel_t /*end*/) {
      return !iterator.tokens_;
    }

   private:
    friend class Answer;

    explicit Iterator(Answer* answer) : answer_(answer), tokens_(answer->NextTokens()) {}

    Answer* answer_;
    std::optional<CommittedTokens> tokens_;
  };

  Iterator begin() { return Iterator(this); }

  std::default_sentinel_t end() const { return {}; }

 private:
  Engine& engine_;
  GenerationHandle handle_;
  std::optional<TextStream> text_;
};

struct AskOptions {
  SamplingParameters sampling{};
  std::uint64_t max_tokens = 512;
};

// Answers a conversation. `piece`, if given, gets the text as it comes, whole characters, on this thread; false stops.
// Returns the whole text.
// Errors: besides, those of ModelText::ChatPrompt and Completed, and what `piece` throws.
inline std::string Ask(
    Engine& engine,
    const std::vector<ChatMessage>& messages,
    const AskOptions& options = {},
    const std::function<bool(std::string_view piece)>& piece = {}
) {
  GenerationRequest request =
      engine.MakeRequest(engine.text().ChatPrompt(messages), options.sampling);
  request.max_tokens = options.max_tokens;
  Answer answer(engine, std::move(request));
  std::string text;
  while (const std::optional<std::string> next = answer.NextPiece()) {
    text += *next;
    if (piece && !piece(*next)) {
      answer.Cancel();
      return text;
    }
  }
  Completed(answer.Outcome());
  return text;
}

}  // namespace hearth::blocking
