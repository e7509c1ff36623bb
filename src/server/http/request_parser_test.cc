#include "server/http/request_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hearth {
namespace {

struct Parsed {
  int fault = 0;
  std::string path;
  std::string body;
  std::size_t headers = 0;
  bool done = false;

  bool operator==(const Parsed&) const = default;
};

// Gives the bytes in pieces of `step`, as a connection does: what is left is given again with what follows.
Parsed Parse(const std::string& bytes, std::size_t step) {
  HttpLimits limits;
  limits.max_body_bytes = 1000;
  RequestParser parser(limits);
  std::string held;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    held += bytes.substr(at, step);
    // Twice: it stops once, after the head.
    held.erase(0, parser.Feed(held));
    held.erase(0, parser.Feed(held));
  }
  Parsed parsed;
  parsed.done = parser.state() == RequestParser::State::kDone;
  if (parser.state() == RequestParser::State::kFault) {
    parsed.fault = parser.fault().status;
  } else {
    parsed.path = parser.request().path;
    parsed.body = parser.request().body;
    parsed.headers = parser.request().headers.size();
  }
  return parsed;
}

// The same whole and in any pieces.
Parsed ParseEveryWay(const std::string& bytes) {
  const Parsed whole = Parse(bytes, bytes.size());
  for (const std::size_t step : {1u, 2u, 3u, 7u}) {
    EXPECT_EQ(Parse(bytes, step), whole) << "in pieces of " << step << ": " << bytes;
  }
  return whole;
}

TEST(RequestParser, ReadsARequestHoweverItIsCut) {
  const Parsed plain = ParseEveryWay("GET /a?b=c HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n");
  EXPECT_TRUE(plain.done);
  EXPECT_EQ(plain.path, "/a");
  EXPECT_EQ(plain.headers, 2u);
  const Parsed by_length =
      ParseEveryWay("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(by_length.body, "hello");
  const Parsed chunked = ParseEveryWay(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
      "a;b=c\r\nthe body..\r\n00\r\nTrailer: x\r\n\r\n"
  );
  EXPECT_TRUE(chunked.done);
  EXPECT_EQ(chunked.body, "the body..");
  EXPECT_EQ(chunked.headers, 2u);
}

TEST(RequestParser, StopsAfterTheHeadAndAfterTheRequest) {
  RequestParser parser(HttpLimits{});
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(parser.Feed(head + "okGET "), head.size());
  EXPECT_EQ(parser.state(), RequestParser::State::kBody);
  EXPECT_EQ(parser.Feed("okGET "), 2u);
  EXPECT_EQ(parser.state(), RequestParser::State::kDone);
  EXPECT_EQ(parser.Feed("GET "), 0u);
}

TEST(RequestParser, SkipsOneEmptyLine) {
  EXPECT_TRUE(ParseEveryWay("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n").done);
  EXPECT_EQ(ParseEveryWay("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n").fault, 400);
}

TEST(RequestParser, KeepAliveFollowsVersionAndConnection) {
  const auto keeps = [](const std::string& version, const std::string& headers) {
    RequestParser parser(HttpLimits{});
    parser.Feed("GET / HTTP/" + version + "\r\nHost: x\r\n" + headers + "\r\n");
    EXPECT_EQ(parser.state(), RequestParser::State::kDone);
    return parser.keep_alive();
  };
  EXPECT_TRUE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: x, Close\r\n"));
  EXPECT_FALSE(keeps("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_FALSE(keeps("1.0", ""));
  EXPECT_TRUE(keeps("1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(keeps("1.0", "Connection: keep-alive, close\r\n"));
}

struct FaultCase {
  int status;
  std::string bytes;
};

TEST(RequestParser, RefusesWhatCouldBeReadInTwoWays) {
  const std::string chunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::vector<FaultCase> cases = {
      {400, "GET / HTTP/1.1\nHost: x\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\rA: b\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(1, '\0') + "\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n Host: x\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\n: no name\r\n\r\n"},
      {400, "GET /\r\n\r\n"},
      {400, "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET / HTTP/1.1 \r\nHost: x\r\n\r\n"},
      {400, "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "G=T / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n"},
      {400, "GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x1\r\n\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\n"},
      {400,
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {400,
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"},
      {400, "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"},
      {501, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
      {501, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n"},
      {501, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n"},
      {400, chunked + "5 \r\nhello\r\n"},
      {400, chunked + "g\r\n"},
      {400, chunked + "\r\nhello"},
      {400, chunked + "-1\r\nx\r\n"},
      {400, chunked + "5\nhello\n0\n\n\r\n"},
      {400, chunked + "5\r\nhelloworld\r\n"},
      {400, chunked + "1;a\nb\r\nx\r\n"},
      {400, chunked + "1;a=\"\x01\"\r\nx\r\n"},
      {400, chunked + "1;a=\"b\"\r\nx\r\n"},
      {400, chunked + "1;a=\"b\r\nx\r\n0\r\n\r\n"},
      {400, chunked + "0x1"},
      {400, chunked + "11111111111111111\r\n"},
      {413, chunked + "ffffffff\r\n"},
      {413, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n"},
      {417, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 1\r\n\r\n"},
      {501, "BREW / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {501, "get / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {501, "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"},
      {505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"},
      {505, "GET / HTTP/1.2\r\nHost: x\r\n\r\n"},
      {400, "GET / http/1.1\r\nHost: x\r\n\r\n"},
  };
  for (const FaultCase& wrong : cases) {
    EXPECT_EQ(ParseEveryWay(wrong.bytes).fault, wrong.status) << wrong.bytes;
  }
}

}  // namespace
}  // namespace hearth
