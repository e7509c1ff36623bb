// Errors as clients of OpenAI's API read them: an HTTP status and {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "hearth/error.h"
#include "hearth/generation.h"
#include "server/api/json_body.h"

namespace hearth::api {

struct ApiError {
  int status = 500;
  std::string message;  // one line
  std::string type;     // "invalid_request_error", ...
  std::string param{};  // the field, as a path from the body: "messages[2].role"; empty is null
  std::string code{};   // empty is null
  std::optional<int> retry_after_seconds{};  // of the Retry-After header: with 429 and 503
  std::string allow{};                       // of the Allow header: with 405

  bool operator==(const ApiError&) const = default;
};

// An error of a request, on its way to the answer. Its hearth::Error code is that of the status.
class RequestError : public Error {
 public:
  explicit RequestError(ApiError error);

  const ApiError& error() const { return error_; }

 private:
  ApiError error_;
};

// 400. `param` and `code` may be empty.
ApiError InvalidRequest(std::string message, std::string param, std::string code = "");

// 400 for a field that asks for what this server does not do: it is named, never dropped.
ApiError UnsupportedField(const std::string& param, const std::string& why);

// 400 context_length_exceeded with both numbers.
ApiError ContextLengthExceeded(std::uint64_t prompt_tokens, std::uint64_t context_length);

// What HTTP itself refuses and the server's own states. The message is the caller's; type and code follow the status. 429 and
// 503 ask to come again after a second. What is no error status is 500.
ApiError ErrorOf(int status, std::string message);

// What an exception means to the client: a RequestError as it is, a hearth::Error by its code (kOverloaded is 429,
// kDeadlineExceeded 504, kCancelled 499, kUnsupported 501, kResourceExhausted 400: it is more than can ever fit), a chat
// template's refusal as 400 of "messages" with the template's own words, everything else 500.
ApiError ErrorOf(const std::exception& error);
ApiError ErrorOf(std::exception_ptr error);

// What an outcome without an answer means; nothing for a completed one. kEngineClosed is 503, a reader that was too slow
// 408, other cancellations 499, failures 500.
std::optional<ApiError> ErrorOf(const GenerationOutcome& outcome);

// {"error": {...}}. With a request id it carries "request_id".
Json ErrorBody(const ApiError& error, const std::string& request_id = "");

// How many tokens an answer may have: what was asked for, within what the context leaves. An answer that reaches this end
// says so with finish_reason "length". Nothing asked: what the context leaves.
// Errors: RequestError(context_length_exceeded) when the prompt leaves no room for one token (for zero, when it is longer
//         than the context).
std::uint64_t OutputLimit(
    std::uint64_t prompt_tokens, std::optional<std::uint64_t> asked, std::uint64_t context_length
);

}  // namespace hearth::api
