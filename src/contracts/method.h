// What a generation method is to the engine: something that plans, makes a run, executes it while publishing tokens,
// and closes it. The session drives these interfaces and the methods implement them; neither knows the other.
// Everything here runs on the engine loop (one executor), so nothing is locked. This is the one header of contracts
// that brings in Asio's coroutines.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "hearth/generation.h"

namespace hearth {

// Keeps a listener subscribed; ends with Reset or its own end, whichever is first. Ending twice does nothing.
class Subscription {
 public:
  Subscription() = default;

  explicit Subscription(std::function<void()> unsubscribe) : unsubscribe_(std::move(unsubscribe)) {}

  Subscription(Subscription&& other) noexcept
      : unsubscribe_(std::exchange(other.unsubscribe_, nullptr)) {}

  Subscription& operator=(Subscription&& other) noexcept;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

  // Drops an error of the unsubscription; who wants to see it calls Reset.
  ~Subscription();

  void Reset();

 private:
  std::function<void()> unsubscribe_;
};

// The wish of others that a generation should end: looked at between units of work, or subscribed to.
// Threads: the engine loop only.
class Cancellation {
 public:
  virtual ~Cancellation() = default;

  // The first reason that was given, if any; it never changes afterwards.
  virtual std::optional<CancelReason> reason() const = 0;

  // Calls `listener` once when the cancellation comes; at once, before returning, when it has come already.
  virtual Subscription Subscribe(std::function<void(CancelReason)> listener) = 0;

  // Throws Error(kCancelled) "generation cancelled" once there is a reason.
  void ThrowIfCancelled() const;
};

// The answer to a commit.
enum class CommitAnswer : std::uint8_t {
  kContinue,
  kStop,  // the consumer wants no more: end normally; a further commit fails
};

// A view of one item a token; an item without a value says that this token has none. Not given differs from empty.
using LogprobsView = std::optional<std::span<const std::optional<TokenLogprobs>>>;

// Where a run publishes. One publication at a time: each is awaited to its end before the next one begins.
// Life:      usable while MethodRun::Execute runs. A publication that a run leaves pending when its Execute ends fails.
// Ownership: `token_ids` and `logprobs` are read until the publication is answered and then belong to the caller again.
// Errors:    every refused publication throws an Error that says which rule was broken; it publishes nothing more of
//            that call and does not end the generation: the run decides what to do. After a cancellation each one
//            throws "generation cancelled".
class GenerationOutput {
 public:
  virtual ~GenerationOutput() = default;

  // Hands over final tokens; suspends while the consumer has no room.
  virtual boost::asio::awaitable<CommitAnswer> Commit(
      std::span<const TokenId> token_ids, LogprobsView logprobs = std::nullopt
  ) = 0;

  // Says how far the work has come; suspends while a streaming consumer has no room.
  virtual boost::asio::awaitable<void> Progress(
      double completed, std::optional<double> total = std::nullopt
  ) = 0;
};

// One execution of a method, with everything that it holds.
// Life: CreateRun, then Execute at most once (not at all when the cancellation came first), then Close exactly once,
//       then destruction. `output` and `cancellation` stay valid until Close has ended.
class MethodRun {
 public:
  virtual ~MethodRun() = default;

  virtual boost::asio::awaitable<MethodResult> Execute(
      GenerationOutput& output, Cancellation& cancellation
  ) = 0;

  // Gives everything back. What it throws becomes the outcome "cleanup_failed".
  virtual boost::asio::awaitable<void> Close() = 0;
};

class InferenceMethod {
 public:
  virtual ~InferenceMethod() = default;

  virtual boost::asio::awaitable<std::unique_ptr<MethodRun>> CreateRun(
      Cancellation& cancellation
  ) = 0;
};

// What preparing a request yields: how much it may publish, and with which method.
struct GenerationPlan {
  std::string id;
  std::int64_t output_token_limit = 0;  // tokens, 0 .. 2^53 - 1
  std::shared_ptr<InferenceMethod> method;
};

}  // namespace hearth
