#include "server/api/api_error.h"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "text/chat_template.h"

namespace hearth::api {
namespace {

TEST(ApiError, BodyHasTheFourFieldsOfOpenAi) {
  EXPECT_EQ(
      DumpJson(ErrorBody(InvalidRequest("a: got 1, wanted 2", "a"))),
      R"({"error":{"message":"a: got 1, wanted 2","type":"invalid_request_error","param":"a","code":null}})"
  );
  EXPECT_EQ(
      DumpJson(ErrorBody(ErrorOf(404, "not found"), "req-1")),
      R"({"error":{"message":"not found","type":"not_found_error","param":null,"code":"not_found","request_id":"req-1"}})"
  );
}

TEST(ApiError, EveryStatusHasItsType) {
  for (const int status :
       {400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 431, 499, 500, 501, 503, 504}) {
    const ApiError error = ErrorOf(status, "m");
    EXPECT_EQ(error.status, status);
    EXPECT_FALSE(error.type.empty());
    EXPECT_EQ(error.retry_after_seconds.has_value(), status == 429 || status == 503) << status;
  }
  EXPECT_EQ(ErrorOf(505, "m").status, 505);
  EXPECT_EQ(ErrorOf(418, "m").status, 418);
  EXPECT_EQ(ErrorOf(418, "m").type, "invalid_request_error");
  EXPECT_EQ(ErrorOf(200, "m").status, 500);
  EXPECT_EQ(ErrorOf(Error(ErrorCode::kUnsupported, "m")).code, "unsupported_execution");
}

TEST(ApiError, CodesOfTheEngine) {
  const std::vector<std::pair<ErrorCode, int>> statuses = {
      {ErrorCode::kInvalidArgument, 400},
      {ErrorCode::kNotFound, 404},
      {ErrorCode::kUnsupported, 501},
      {ErrorCode::kCorruptData, 500},
      {ErrorCode::kResourceExhausted, 400},
      {ErrorCode::kOverloaded, 429},
      {ErrorCode::kCancelled, 499},
      {ErrorCode::kDeadlineExceeded, 504},
      {ErrorCode::kIo, 500},
      {ErrorCode::kInternal, 500},
  };
  for (const auto& [code, status] : statuses) {
    const Error error(code, "where: what");
    EXPECT_EQ(ErrorOf(error).status, status);
    EXPECT_EQ(ErrorOf(error).message, "where: what");
    EXPECT_EQ(ErrorOf(std::make_exception_ptr(error)).status, status);
  }
  EXPECT_EQ(ErrorOf(Error(ErrorCode::kOverloaded, "full")).retry_after_seconds, 1);
  EXPECT_EQ(ErrorOf(std::runtime_error("x")).status, 500);
  EXPECT_EQ(ErrorOf(std::make_exception_ptr(5)).status, 500);
}

TEST(ApiError, ARequestErrorStaysWhatItIs) {
  const ApiError inner = InvalidRequest("m", "p", "c");
  EXPECT_EQ(ErrorOf(std::make_exception_ptr(RequestError(inner))), inner);
  EXPECT_EQ(RequestError(inner).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(RequestError(ErrorOf(429, "m")).code(), ErrorCode::kOverloaded);
}

TEST(ApiError, Fault20_TheTemplatesWordsReachTheClient) {
  const TemplateError raised(ErrorCode::kInvalidArgument, "roles must\nalternate", 1, 2, true);
  const ApiError error = ErrorOf(raised);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, "messages");
  EXPECT_EQ(error.message, "chat template: roles must alternate");
  EXPECT_EQ(ErrorOf(TemplateError(ErrorCode::kCorruptData, "x", 1, 2, false)).status, 500);
}

TEST(ApiError, OutcomesWithoutAnAnswer) {
  GenerationOutcome outcome;
  outcome.end = GenerationOutcome::Completed{};
  EXPECT_EQ(ErrorOf(outcome), std::nullopt);
  const auto cancelled = [&](CancelReason reason) {
    outcome.end = GenerationOutcome::Cancelled{reason};
    return ErrorOf(outcome)->status;
  };
  EXPECT_EQ(cancelled(CancelReason::kRequested), 499);
  EXPECT_EQ(cancelled(CancelReason::kConsumerClosed), 499);
  EXPECT_EQ(cancelled(CancelReason::kConsumerIdle), 408);
  EXPECT_EQ(cancelled(CancelReason::kEngineClosed), 503);
  outcome.end = GenerationOutcome::Failed{FailureCode::kExecutionFailed, "NaN", {}};
  EXPECT_EQ(ErrorOf(outcome)->status, 500);
  EXPECT_EQ(ErrorOf(outcome)->message, "answer: failed, NaN");
}

TEST(ApiError, Fault67_AContextThatIsTooSmallHasBothNumbers) {
  try {
    OutputLimit(100, 1, 100);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.error().status, 400);
    EXPECT_EQ(error.error().code, "context_length_exceeded");
    EXPECT_EQ(
        error.error().message,
        "prompt: got 100 tokens, wanted at most 99: the model's context is 100 tokens, prompt and "
        "answer together"
    );
  }
}

TEST(ApiError, Fault68_TheContextIsUsableToTheToken) {
  EXPECT_EQ(OutputLimit(99, 1, 100), 1u);
  EXPECT_EQ(OutputLimit(99, std::nullopt, 100), 1u);
  EXPECT_EQ(OutputLimit(100, 0, 100), 0u);
  EXPECT_EQ(OutputLimit(1, 50, 100), 50u);
  EXPECT_EQ(OutputLimit(60, 50, 100), 40u);
  EXPECT_THROW(OutputLimit(101, 0, 100), RequestError);
  EXPECT_THROW(OutputLimit(std::numeric_limits<std::uint64_t>::max(), 1, 100), RequestError);
}

}  // namespace
}  // namespace hearth::api
