#include "server/http/host_policy.h"

#include <gtest/gtest.h>

#include "hearth/error.h"
#include "support/expect_error.h"

namespace hearth {
namespace {

HttpRequest Asks(const std::string& host) {
  HttpRequest request;
  request.headers.Add("Host", host);
  return request;
}

TEST(HostPolicy, TakesNamesApart) {
  EXPECT_EQ(HostName("LocalHost:8080"), "localhost");
  EXPECT_EQ(HostName("localhost."), "localhost");
  EXPECT_EQ(HostName("[::1]:80"), "[::1]");
  EXPECT_EQ(HostName("[::1]"), "[::1]");
}

TEST(HostPolicy, OnLoopbackOnlyLoopbackNamesAndThoseThatAreListed) {
  const HostPolicy policy("127.0.0.1", true, {"hearth.internal:8080"});
  for (const char* right :
       {"localhost",
        "localhost:1",
        "LOCALHOST:8080",
        "127.0.0.1:8080",
        "[::1]:8080",
        "localhost.:80",
        "hearth.internal",
        "Hearth.Internal:99"}) {
    EXPECT_TRUE(policy.Allows(Asks(right))) << right;
  }
  for (const char* wrong :
       {"evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "evil.example:8080",
        "0.0.0.0",
        "[::2]",
        "xlocalhost",
        "internal"}) {
    EXPECT_FALSE(policy.Allows(Asks(wrong))) << wrong;
  }
  EXPECT_TRUE(policy.Allows(HttpRequest{}));
}

TEST(HostPolicy, TheAddressItselfIsAName) {
  EXPECT_TRUE(HostPolicy("127.0.0.9", true, {}).Allows(Asks("127.0.0.9:80")));
  EXPECT_TRUE(HostPolicy("::1", true, {}).Allows(Asks("[::1]:80")));
}

TEST(HostPolicy, ElsewhereItChecksWhenItWasToldNames) {
  EXPECT_TRUE(HostPolicy("0.0.0.0", false, {}).Allows(Asks("any.example")));
  const HostPolicy told("0.0.0.0", false, {"my.example"});
  EXPECT_TRUE(told.Allows(Asks("my.example")));
  EXPECT_FALSE(told.Allows(Asks("any.example")));
  EXPECT_TRUE(HostPolicy("127.0.0.1", true, {"*"}).Allows(Asks("any.example")));
}

TEST(HostPolicy, EntriesAreNames) {
  ExpectError(
      [] { HostPolicy("127.0.0.1", true, {"a/b"}); },
      ErrorCode::kInvalidArgument,
      "got a/b, wanted a host name"
  );
}

}  // namespace
}  // namespace hearth
