#include "server/http/request_target.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth {
namespace {

RequestTarget Read(std::string_view text, std::string_view method = "GET") {
  RequestTarget target;
  const auto fault = ParseRequestTarget(method, text, target);
  EXPECT_FALSE(fault) << text;
  return target;
}

int FaultOf(std::string_view text, std::string_view method = "GET") {
  RequestTarget target;
  const auto fault = ParseRequestTarget(method, text, target);
  return fault ? fault->status : 0;
}

TEST(RequestTarget, DecodesPathAndQueryOnce) {
  const RequestTarget target = Read("/v1/models/org%2Fname%25?a=1%2B1&b=x+y&&c&=d");
  EXPECT_EQ(target.path, "/v1/models/org/name%");
  EXPECT_EQ(target.raw_query, "a=1%2B1&b=x+y&&c&=d");
  ASSERT_EQ(target.query.size(), 4u);
  EXPECT_EQ(target.query[0].value, "1+1");
  EXPECT_EQ(target.query[1].value, "x y");
  EXPECT_EQ(target.query[2].name, "c");
  EXPECT_EQ(target.query[2].value, "");
  EXPECT_EQ(target.query[3].name, "");
  EXPECT_EQ(Read("/a+b").path, "/a+b");
  EXPECT_EQ(Read("//double//slash").path, "//double//slash");
}

TEST(RequestTarget, TakesTheAbsoluteForm) {
  const RequestTarget target = Read("http://Host:80/a?b=c");
  EXPECT_EQ(target.path, "/a");
  EXPECT_EQ(target.authority, "Host:80");
  EXPECT_EQ(Read("HTTP://h").path, "/");
  EXPECT_EQ(Read("http://h?a=b").query.size(), 1u);
  for (const char* wrong :
       {"https://h/", "ftp://h/", "http://", "http:///a", "http://u@h/", "h:80", "a"}) {
    EXPECT_EQ(FaultOf(wrong), 400) << wrong;
  }
}

TEST(RequestTarget, AsteriskBelongsToOptions) {
  EXPECT_EQ(Read("*", "OPTIONS").path, "*");
  EXPECT_EQ(FaultOf("*"), 400);
}

TEST(RequestTarget, RefusesWhatAnotherReaderCouldTakeForAnotherPath) {
  for (const char* wrong :
       {"/..",   "/a/../b", "/.",     "/a/.", "/./a",    "/%2e%2e/a", "/.%2E",   "/a%2f..%2fb",
        "/a\\b", "/a%5Cb",  "/a%00b", "/%0a", "/%7f",    "/%",        "/%4",     "/%zz",
        "/%4g",  "/a#b",    "/\x80",  "/%ff", "/%c0%ae", "/?a=%",     "/?a=%ff", "/?%00"}) {
    EXPECT_EQ(FaultOf(wrong), 400) << wrong;
  }
  EXPECT_EQ(Read("/...").path, "/...");
  EXPECT_EQ(Read("/.well-known").path, "/.well-known");
  EXPECT_EQ(Read("/%C3%A9").path, "/\xc3\xa9");
}

TEST(RequestTarget, KnowsAuthorities) {
  for (const char* right : {"a", "a:1", "a.b-c_d", "127.0.0.1:65535", "[::1]", "[::1]:80", "a:"}) {
    EXPECT_TRUE(IsAuthority(right)) << right;
  }
  for (const char* wrong :
       {"", ":80", "a:b", "a:123456", "[::1", "[]", "[x]", "[::1]x", "a b", "a/b", "a@b", "a,b"}) {
    EXPECT_FALSE(IsAuthority(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace hearth
