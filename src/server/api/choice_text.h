// The text of one generated choice, from tokens to what a client sees: whole characters, reasoning apart from content, cut at
// a stop string. What is streamed, joined, is what is answered at once: both are these deltas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/generation.h"
#include "hearth/token.h"
#include "text/reasoning_parser.h"
#include "text/stop_matcher.h"
#include "text/utf8_stream.h"

namespace hearth::api {

// One token's log probabilities, on their way into a body.
struct LogprobEntry {
  TokenId id = 0;
  std::optional<TokenLogprobs> logprobs{};  // nothing: this token has none (the first of a prompt)
  std::uint64_t text_offset = 0;            // characters of the choice's text before it

  bool operator==(const LogprobEntry&) const = default;
};

// What one step adds. Its reasoning comes before its content.
struct ChoiceDelta {
  std::string reasoning{};
  std::string content{};
  std::vector<LogprobEntry> logprobs{};

  bool empty() const { return reasoning.empty() && content.empty() && logprobs.empty(); }

  void Append(ChoiceDelta next);

  bool operator==(const ChoiceDelta&) const = default;
};

struct ChoiceTextOptions {
  std::vector<std::string> stop{};              // none is empty
  std::optional<ReasoningMarkers> reasoning{};  // nothing: all text is content
  bool opens_thinking = false;                  // the prompt ended inside thinking
  bool logprobs = false;                        // entries are wanted
};

// Bytes -> characters (utf8_stream.h) -> reasoning and content (reasoning_parser.h) -> stop strings (stop_matcher.h). The order
// matters: stop strings are looked for in content only, so that reasoning is the same with and without them, and what was
// held back for a stop is never a part of a marker. At the end everything held back goes the same way.
//
// - A stop string ends the choice: finish_reason "stop", whatever the engine says.
// - Thinking that max_tokens cut off is reasoning, with empty content and finish_reason "length".
// - An answer that is finished has content: when a model stops inside its thinking, or says nothing behind it, the
//   reasoning is repeated as content (and matched against the stop strings there). Otherwise a client that shows content
//   only would show nothing.
// - Entries for tokens that begin in or behind the stop string are left out; all others come in order, with the text they
//   belong to or after it.
// Threads: one user at a time. Errors: Error(kInvalidArgument) for an empty stop. Cost: that of the parts.
class ChoiceText {
 public:
  explicit ChoiceText(const ChoiceTextOptions& options);

  // A token of the prompt, for an answer that echoes it; before any Push. Markers and stops are not looked for.
  ChoiceDelta Echo(TokenId id, std::string_view bytes, std::optional<TokenLogprobs> logprobs = {});

  // A token and its bytes, which may be a part of a character; no bytes for a token that prints nothing. Does nothing once
  // a stop string was found.
  ChoiceDelta Push(TokenId id, std::string_view bytes, std::optional<TokenLogprobs> logprobs = {});

  // The end, with the reason that the engine gives.
  ChoiceDelta Finish(FinishReason reason);

  // Whether a stop string was found: the engine need not go on.
  bool stopped() const { return stops_.stopped_by().has_value(); }

  // "stop" or "length"; after Finish.
  FinishReason finish_reason() const { return finish_reason_; }

  // Tokens that were pushed, until a stop.
  std::uint64_t completion_tokens() const { return completion_tokens_; }

  // Of those, the tokens of thinking, with its markers.
  std::uint64_t reasoning_tokens() const { return reasoning_tokens_; }

 private:
  struct HeldEntry {
    LogprobEntry entry;
    std::size_t begin;  // in the text, in bytes
  };

  void Take(std::string_view text, bool final, ChoiceDelta& delta);
  void CountReasoning();
  void AddEntry(TokenId id, std::optional<TokenLogprobs> logprobs);
  void ReleaseEntries(std::size_t before, ChoiceDelta& delta);

  bool wants_logprobs_;
  bool splits_reasoning_;
  Utf8Stream characters_;
  ReasoningParser parser_;
  StopMatcher stops_;
  FinishReason finish_reason_ = FinishReason::kStop;

  std::size_t text_bytes_ = 0;               // of whole characters so far
  std::uint64_t text_characters_ = 0;        // the same, in characters
  std::optional<std::size_t> content_at_{};  // byte of the text where content begins
  std::size_t content_bytes_ = 0;            // that came out
  std::string reasoning_{};                  // until there is content
  std::deque<HeldEntry> entries_{};
  std::uint64_t completion_tokens_ = 0;
  std::uint64_t reasoning_tokens_ = 0;
  std::uint64_t undecided_tokens_ = 0;
  std::uint32_t counted_blocks_ = 0;
};

}  // namespace hearth::api
