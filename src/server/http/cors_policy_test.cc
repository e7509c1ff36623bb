#include "server/http/cors_policy.h"

#include <gtest/gtest.h>

#include "hearth/error.h"
#include "support/expect_error.h"

namespace hearth {
namespace {

using Verdict = CorsPolicy::Verdict;

HttpRequest From(const std::string& origin, const std::string& method = "POST") {
  HttpRequest request;
  request.method = method;
  request.headers = {{"Host", "localhost:8080"}, {"Origin", origin}};
  return request;
}

std::string HeaderOf(const CorsPolicy& policy, const HttpRequest& request, std::string_view name) {
  HttpHeaders headers;
  policy.AddHeaders(request, headers);
  const std::string* const value = headers.First(name);
  return value == nullptr ? "" : *value;
}

TEST(CorsPolicy, LoopbackPagesMayAndOthersMayNot) {
  const CorsPolicy policy({});
  for (const char* right :
       {"http://localhost:3000", "https://localhost", "http://127.0.0.1:1", "http://[::1]:5173"}) {
    EXPECT_EQ(policy.Check(From(right)), Verdict::kAllowed) << right;
    EXPECT_EQ(HeaderOf(policy, From(right), "Access-Control-Allow-Origin"), right);
  }
  for (const char* wrong :
       {"https://evil.example",
        "null",
        "",
        "http://localhost.evil.example",
        "http://localhost:80@evil.example",
        "file://",
        "chrome-extension://localhost",
        "http://localhost/path",
        "localhost"}) {
    EXPECT_EQ(policy.Check(From(wrong)), Verdict::kRefused) << wrong;
    EXPECT_EQ(HeaderOf(policy, From(wrong), "Access-Control-Allow-Origin"), "") << wrong;
  }
  EXPECT_EQ(policy.Check(From("http://localhost:8080")), Verdict::kSame);
  EXPECT_EQ(policy.Check(HttpRequest{}), Verdict::kSame);
  EXPECT_EQ(HeaderOf(policy, HttpRequest{}, "Vary"), "Origin");
  HttpRequest twice = From("http://localhost:1");
  twice.headers.Add("Origin", "http://localhost:1");
  EXPECT_EQ(policy.Check(twice), Verdict::kRefused);
}

TEST(CorsPolicy, ListedOriginsMay) {
  const CorsPolicy policy(
      {.origins = {"https://chat.example", "app://shell"}, .credentials = true}
  );
  EXPECT_EQ(policy.Check(From("https://chat.example")), Verdict::kAllowed);
  EXPECT_EQ(policy.Check(From("app://shell")), Verdict::kAllowed);
  EXPECT_EQ(policy.Check(From("http://chat.example")), Verdict::kRefused);
  EXPECT_EQ(policy.Check(From("https://chat.example:444")), Verdict::kRefused);
  EXPECT_EQ(policy.Check(From("https://chat.example.evil.example")), Verdict::kRefused);
  EXPECT_EQ(
      HeaderOf(policy, From("https://chat.example"), "Access-Control-Allow-Credentials"), "true"
  );
}

TEST(CorsPolicy, TheStarNeverComesWithCredentials) {
  const CorsPolicy policy({.origins = {"*"}, .credentials = false});
  EXPECT_EQ(policy.Check(From("https://any.example")), Verdict::kAllowed);
  EXPECT_EQ(HeaderOf(policy, From("https://any.example"), "Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(HeaderOf(policy, From("https://any.example"), "Access-Control-Allow-Credentials"), "");
  EXPECT_EQ(HeaderOf(policy, From("http://localhost:1"), "Access-Control-Allow-Credentials"), "");
  ExpectError(
      [] { CorsPolicy({.origins = {"*"}, .credentials = true}); },
      ErrorCode::kInvalidArgument,
      "got * with credentials"
  );
  ExpectError(
      [] { CorsPolicy({.origins = {"chat.example"}, .credentials = false}); },
      ErrorCode::kInvalidArgument,
      "got chat.example, wanted scheme://host"
  );
}

TEST(CorsPolicy, AnswersPreflights) {
  const CorsPolicy policy({});
  HttpRequest request = From("http://localhost:3000", "OPTIONS");
  EXPECT_FALSE(CorsPolicy::IsPreflight(request));
  request.headers.Add("Access-Control-Request-Method", "POST");
  EXPECT_TRUE(CorsPolicy::IsPreflight(request));
  request.headers.Add(
      "Access-Control-Request-Headers", "authorization, x-stainless-os,content-type"
  );
  request.headers.Add("Access-Control-Request-Private-Network", "true");
  const HttpHeaders headers = policy.PreflightHeaders(request);
  EXPECT_NE(headers.First("Access-Control-Allow-Methods")->find("POST"), std::string::npos);
  EXPECT_EQ(
      *headers.First("Access-Control-Allow-Headers"), "authorization, x-stainless-os,content-type"
  );
  EXPECT_EQ(*headers.First("Access-Control-Allow-Private-Network"), "true");
  EXPECT_EQ(
      HeaderOf(policy, request, "Access-Control-Expose-Headers"),
      "X-Request-Id, Retry-After, Warning"
  );
}

TEST(CorsPolicy, EchoesOnlyNamesOfHeaders) {
  const CorsPolicy policy({});
  for (const std::string& odd :
       {std::string("a b"), std::string("a,,b"), std::string("a;b"), std::string(5000, 'a')}) {
    HttpRequest request = From("http://localhost:3000", "OPTIONS");
    request.headers.Add("Access-Control-Request-Headers", odd);
    EXPECT_FALSE(policy.PreflightHeaders(request).Has("Access-Control-Allow-Headers")) << odd;
  }
}

}  // namespace
}  // namespace hearth
