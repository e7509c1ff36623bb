// What a generation says about itself while it runs and when it ends: values only, shared by the methods that make
// tokens, the session that delivers them and the server that writes them down. No behaviour, no executor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hearth/token.h"

namespace hearth {

// Why a generation was told to stop early. A closed set: the first reason given is the one that counts.
enum class CancelReason : std::uint8_t {
  kRequested,       // somebody called Cancel without saying more
  kConsumerClosed,  // the reader went away
  kConsumerIdle,    // the reader took nothing for the idle timeout
  kEngineClosed,  // the engine is shutting down, or can no longer keep its promises for this request
};

// "requested", "consumer_closed", "consumer_idle", "engine_closed": the spelling of JSON and logs. Never fails.
std::string_view CancelReasonName(CancelReason reason);

// How the consumer takes the tokens; fixed when the session is opened.
enum class OutputMode : std::uint8_t {
  kStream,    // events through one reader; the work starts with the first read
  kCollect,   // into one reserved buffer that the outcome carries; the work starts at once
  kCallback,  // through a function that is awaited for every commit; the work starts at once
};

std::string_view OutputModeName(OutputMode mode);

// The life of a session, in this order; any state may be followed by kSettling or kTerminal, none is entered twice.
enum class SessionState : std::uint8_t {
  kCreated,    // nothing has been started
  kPreparing,  // the plan or the run is being made
  kRunning,    // the method executes: the only state in which it may publish
  kSettling,   // the method has ended; its resources are being given back
  kTerminal,   // the outcome is known and nothing is held
};

std::string_view SessionStateName(SessionState state);

// One alternative of a step. Units: natural logarithm.
struct TopLogprob {
  TokenId id;
  float logprob;

  bool operator==(const TopLogprob&) const = default;
};

// What is known about the probability of one committed token; either part may be missing.
struct TokenLogprobs {
  std::optional<float> logprob;                // of the token itself
  std::optional<std::vector<TopLogprob>> top;  // the most probable tokens, in descending order

  bool operator==(const TokenLogprobs&) const = default;
};

// Tokens that are final: never taken back.
struct CommittedTokens {
  std::uint64_t sequence;  // 0, 1, 2, ... over the committed events of a session
  std::vector<TokenId> token_ids;
  // [token_ids.size()] when the method gave log probabilities; an item without a value says that this token has none.
  std::optional<std::vector<std::optional<TokenLogprobs>>> logprobs;

  bool operator==(const CommittedTokens&) const = default;
};

// How far the work has come before there are tokens (prefill). Units: the method's own, usually prompt tokens.
struct GenerationProgress {
  double completed;
  std::optional<double> total;

  bool operator==(const GenerationProgress&) const = default;
};

using GenerationEvent = std::variant<CommittedTokens, GenerationProgress>;

enum class FinishReason : std::uint8_t {
  kStop,    // the model or the consumer ended it
  kLength,  // the planned output limit did
};

// "stop", "length".
std::string_view FinishReasonName(FinishReason reason);

// What a method knows about its own work. The session carries it to the outcome and does not look at it.
struct GenerationMetrics {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_prompt_tokens = 0;  // of those, how many came from the prompt cache
  std::uint64_t generated_tokens = 0;
  std::uint64_t decode_steps = 0;  // forwards after the first token

  // Seconds: from the request to its place in the batch, from there to the first token (or the prompt's end), and
  // from there to the end.
  double queue_seconds = 0;
  double prefill_seconds = 0;
  double decode_seconds = 0;

  bool operator==(const GenerationMetrics&) const = default;
};

// The answer of a method that ended by itself.
struct MethodResult {
  FinishReason finish_reason = FinishReason::kStop;
  GenerationMetrics metrics;

  bool operator==(const MethodResult&) const = default;
};

enum class FailureCode : std::uint8_t {
  kExecutionFailed,  // preparing or executing failed; everything was given back
  kCleanupFailed,    // giving back failed, whatever happened before
};

// "execution_failed", "cleanup_failed".
std::string_view FailureCodeName(FailureCode code);

// The one answer that every session gives, after its resources are released.
struct GenerationOutcome {
  struct Completed {
    MethodResult result;

    bool operator==(const Completed&) const = default;
  };

  struct Cancelled {
    CancelReason reason;
    GenerationMetrics metrics{};  // of what was done until then, where the method knows it

    bool operator==(const Cancelled&) const = default;
  };

  struct Failed {
    FailureCode code;
    std::string message;  // of the execution's error, or of the cleanup's when that is the only one
    std::optional<std::string> cleanup_error;  // present exactly when code is kCleanupFailed

    bool operator==(const Failed&) const = default;
  };

  std::variant<Completed, Cancelled, Failed> end;
  std::uint64_t committed_tokens = 0;
  // The committed ids, whatever the end: only of a collecting session whose buffer was reserved.
  std::optional<std::vector<TokenId>> output;

  bool operator==(const GenerationOutcome&) const = default;
};

// "completed", "cancelled", "failed".
std::string_view OutcomeStatusName(const GenerationOutcome& outcome);

}  // namespace hearth
