#include "server/http/access_policy.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

AccessPolicy Policy() {
  ApiKeys keys;
  keys.Add("key");
  return AccessPolicy(
      HostPolicy("127.0.0.1", true, {}), CorsPolicy({}), std::move(keys), {"/health"}
  );
}

HttpRequest Asks(const std::string& path, HttpHeaders headers, const std::string& method = "GET") {
  HttpRequest request;
  request.method = method;
  request.path = path;
  request.headers = std::move(headers);
  return request;
}

int StatusOf(const HttpRequest& request) {
  const auto refusal = Policy().Admit(request);
  return refusal ? refusal->status : 0;
}

TEST(AccessPolicy, WantsAKeyBesidesOpenPaths) {
  EXPECT_EQ(StatusOf(Asks("/health", {{"Host", "localhost"}})), 0);
  EXPECT_EQ(StatusOf(Asks("/health/live", {{"Host", "localhost"}})), 401);
  EXPECT_EQ(StatusOf(Asks("/v1/models", {{"Host", "localhost"}})), 401);
  EXPECT_EQ(
      StatusOf(Asks("/v1/models", {{"Host", "localhost"}, {"Authorization", "Bearer no"}})), 401
  );
  EXPECT_EQ(
      StatusOf(Asks("/v1/models", {{"Host", "localhost"}, {"Authorization", "Bearer key"}})), 0
  );
  const auto refusal = Policy().Admit(Asks("/v1/models", {{"Host", "localhost"}}));
  EXPECT_TRUE(refusal->headers.Has("WWW-Authenticate"));
}

TEST(AccessPolicy, HostAndOriginComeFirst) {
  const HttpHeader key{"Authorization", "Bearer key"};
  EXPECT_EQ(StatusOf(Asks("/v1/models", {{"Host", "evil.example"}, key})), 403);
  EXPECT_EQ(StatusOf(Asks("/health", {{"Host", "evil.example"}})), 403);
  EXPECT_EQ(
      StatusOf(Asks("/v1/models", {{"Host", "localhost"}, {"Origin", "http://evil.example"}, key})),
      403
  );
}

TEST(AccessPolicy, APreflightNeedsNoKey) {
  HttpHeaders headers{
      {"Host", "localhost"},
      {"Origin", "http://localhost:3000"},
      {"Access-Control-Request-Method", "POST"}
  };
  const HttpRequest request = Asks("/v1/chat/completions", headers, "OPTIONS");
  const auto answer = Policy().Admit(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 204);
  EXPECT_EQ(answer->message, "");
  EXPECT_TRUE(answer->headers.Has("Access-Control-Allow-Methods"));
  HttpHeaders added;
  Policy().AddHeaders(request, added);
  EXPECT_EQ(*added.First("Access-Control-Allow-Origin"), "http://localhost:3000");
  const HttpRequest evil = Asks(
      "/",
      {{"Host", "localhost"},
       {"Origin", "http://evil.example"},
       {"Access-Control-Request-Method", "POST"}},
      "OPTIONS"
  );
  EXPECT_EQ(StatusOf(evil), 403);
}

}  // namespace
}  // namespace hearth
