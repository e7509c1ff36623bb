#include "server/api/api_error.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "text/chat_template.h"

namespace hearth::api {
namespace {

struct StatusNames {
  int status;
  std::string_view type, code;
  ErrorCode error;
};

constexpr std::string_view kInvalidType = "invalid_request_error";

constexpr std::array kStatuses = {
    StatusNames{400, kInvalidType, "", ErrorCode::kInvalidArgument},
    StatusNames{401, "authentication_error", "invalid_api_key", ErrorCode::kInvalidArgument},
    StatusNames{403, "forbidden", "", ErrorCode::kInvalidArgument},
    StatusNames{404, "not_found_error", "not_found", ErrorCode::kNotFound},
    StatusNames{405, kInvalidType, "method_not_allowed", ErrorCode::kInvalidArgument},
    StatusNames{408, kInvalidType, "request_timeout", ErrorCode::kDeadlineExceeded},
    StatusNames{413, kInvalidType, "request_too_large", ErrorCode::kResourceExhausted},
    StatusNames{415, kInvalidType, "unsupported_media_type", ErrorCode::kInvalidArgument},
    StatusNames{422, kInvalidType, "unprocessable", ErrorCode::kInvalidArgument},
    StatusNames{429, "rate_limit_error", "queue_full", ErrorCode::kOverloaded},
    StatusNames{431, kInvalidType, "headers_too_large", ErrorCode::kResourceExhausted},
    StatusNames{499, "request_cancelled", "request_cancelled", ErrorCode::kCancelled},
    StatusNames{500, "server_error", "internal_error", ErrorCode::kInternal},
    StatusNames{501, "not_implemented", "not_implemented", ErrorCode::kUnsupported},
    StatusNames{503, "unavailable_error", "unavailable", ErrorCode::kOverloaded},
    StatusNames{504, "timeout_error", "timeout", ErrorCode::kDeadlineExceeded},
};

// A status that is not listed keeps its number and takes the names of its class.
StatusNames NamesOf(int status) {
  for (const StatusNames& names : kStatuses) {
    if (names.status == status) {
      return names;
    }
  }
  return status >= 400 && status < 500
             ? StatusNames{status, kInvalidType, "", ErrorCode::kInvalidArgument}
             : StatusNames{
                   status < 500 || status > 599 ? 500 : status,
                   "server_error",
                   "",
                   ErrorCode::kInternal
               };
}

// A message may quote a template's words over several lines.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' '
  );
  return text;
}

Json NullIfEmpty(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

int StatusOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kResourceExhausted:
      return 400;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kOverloaded:
      return 429;
    case ErrorCode::kCancelled:
      return 499;
    case ErrorCode::kDeadlineExceeded:
      return 504;
    case ErrorCode::kCorruptData:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return 500;
}

}  // namespace

RequestError::RequestError(ApiError error)
    : Error(NamesOf(error.status).error, error.message), error_(std::move(error)) {
}

ApiError InvalidRequest(std::string message, std::string param, std::string code) {
  return {
      .status = 400,
      .message = std::move(message),
      .type = std::string(kInvalidType),
      .param = std::move(param),
      .code = std::move(code)
  };
}

ApiError UnsupportedField(const std::string& param, const std::string& why) {
  return InvalidRequest(param + ": " + why, param, "unsupported_parameter");
}

ApiError ContextLengthExceeded(std::uint64_t prompt_tokens, std::uint64_t context_length) {
  return InvalidRequest(
      fmt::format(
          "prompt: got {} tokens, wanted at most {}: the model's context is {} tokens, prompt and "
          "answer "
          "together",
          prompt_tokens,
          context_length == 0 ? 0 : context_length - 1,
          context_length
      ),
      "",
      "context_length_exceeded"
  );
}

ApiError ErrorOf(int status, std::string message) {
  const StatusNames names = NamesOf(status);
  ApiError error{
      .status = names.status,
      .message = OneLine(std::move(message)),
      .type = std::string(names.type),
      .code = std::string(names.code)
  };
  if (error.status == 429 || error.status == 503) {
    error.retry_after_seconds = 1;
  }
  return error;
}

ApiError ErrorOf(const std::exception& error) {
  if (const auto* request = dynamic_cast<const RequestError*>(&error)) {
    return request->error();
  }
  if (const auto* refused = dynamic_cast<const TemplateError*>(&error);
      refused != nullptr && refused->code() == ErrorCode::kInvalidArgument) {
    return InvalidRequest(
        OneLine(refused->raised() ? "chat template: " + refused->detail() : refused->what()),
        "messages",
        "chat_template_error"
    );
  }
  if (const auto* own = dynamic_cast<const Error*>(&error)) {
    ApiError api = ErrorOf(StatusOf(own->code()), own->what());
    if (own->code() == ErrorCode::kResourceExhausted) {
      api.code = "limit_exceeded";
    }
    if (own->code() == ErrorCode::kUnsupported) {
      api.code = "unsupported_execution";
    }
    return api;
  }
  return ErrorOf(500, error.what());
}

ApiError ErrorOf(std::exception_ptr error) {
  try {
    std::rethrow_exception(std::move(error));
  } catch (const std::exception& caught) {
    return ErrorOf(caught);
  } catch (...) {
    return ErrorOf(500, "server: an unknown error");
  }
}

std::optional<ApiError> ErrorOf(const GenerationOutcome& outcome) {
  if (const auto* cancelled = std::get_if<GenerationOutcome::Cancelled>(&outcome.end)) {
    switch (cancelled->reason) {
      case CancelReason::kEngineClosed:
        return ErrorOf(503, "server: shutting down");
      case CancelReason::kConsumerIdle:
        return ErrorOf(408, "answer: cancelled, because its reader took nothing for too long");
      case CancelReason::kRequested:
      case CancelReason::kConsumerClosed:
        break;
    }
    return ErrorOf(499, "answer: cancelled, " + std::string(CancelReasonName(cancelled->reason)));
  }
  if (const auto* failed = std::get_if<GenerationOutcome::Failed>(&outcome.end)) {
    return ErrorOf(500, "answer: failed, " + failed->message);
  }
  return std::nullopt;
}

Json ErrorBody(const ApiError& error, const std::string& request_id) {
  Json inner = {
      {"message", error.message},
      {"type", NullIfEmpty(error.type)},
      {"param", NullIfEmpty(error.param)},
      {"code", NullIfEmpty(error.code)}
  };
  if (!request_id.empty()) {
    inner["request_id"] = request_id;
  }
  return {{"error", std::move(inner)}};
}

std::uint64_t OutputLimit(
    std::uint64_t prompt_tokens, std::optional<std::uint64_t> asked, std::uint64_t context_length
) {
  const std::uint64_t least = asked == 0u ? 0 : 1;
  if (prompt_tokens > context_length || context_length - prompt_tokens < least) {
    throw RequestError(ContextLengthExceeded(prompt_tokens, context_length));
  }
  return std::min(asked.value_or(context_length), context_length - prompt_tokens);
}

}  // namespace hearth::api
