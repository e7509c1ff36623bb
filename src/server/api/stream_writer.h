// One streamed answer as server-sent events, in the shapes of OpenAI's API.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "server/api/api_error.h"
#include "server/api/choice_text.h"
#include "server/api/json_body.h"
#include "server/api/logprobs_body.h"
#include "server/api/response_body.h"

namespace hearth::api {

// Each call returns frames to send, or nothing to send (""). For every choice in any interleaving: Start, Delta as often as
// there is something, Finish; then End. Fail instead of what is left, once. Every stream ends with one [DONE].
//
// - Start: of chat, the delta with the role (and "seed" beside the choices); of completions nothing.
// - Delta: reasoning and content in chunks of their own, reasoning first.
// - usage: only when asked: one last chunk with "choices": [] and the counts, and null on the others.
// Threads: one user at a time. Errors: Delta, those of logprobs_body.h.
class StreamWriter {
 public:
  // `bytes_of` is for log probabilities; empty when they were not asked for.
  StreamWriter(AnswerHead head, bool include_usage, TokenBytes bytes_of = {});

  std::string Start(std::size_t choice) const;
  std::string Delta(std::size_t choice, const ChoiceDelta& delta) const;

  // `timings` (TimingsBody) null is left out.
  std::string Finish(std::size_t choice, FinishReason reason, const Json& timings = {}) const;
  std::string End(const UsageCounts& usage) const;

  // {"error": ...} in band: the status line has been sent long ago.
  std::string Fail(const ApiError& error, const std::string& request_id = "") const;

 private:
  std::string Frame(Json chunk) const;
  std::string Chunk(
      std::size_t choice,
      Json delta,
      std::optional<FinishReason> reason,
      const ChoiceDelta* logprobs
  ) const;
  Json ChoiceOf(
      std::size_t choice,
      Json delta,
      std::optional<FinishReason> reason,
      const ChoiceDelta* logprobs
  ) const;
  Json TextDelta(std::string_view field, const std::string& text) const;

  AnswerHead head_;
  bool include_usage_;
  TokenBytes bytes_of_;
};

}  // namespace hearth::api
