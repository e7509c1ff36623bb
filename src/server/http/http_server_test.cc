// What clients see of the server when everybody behaves. http_server_limits_test.cc has its limits,
// http_server_end_test.cc clients that leave and the end of the server.
#include "server/http/http_server.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "hearth/error.h"
#include "server/http/http_test_service.h"
#include "support/expect_error.h"
#include "support/raw_http_client.h"

namespace hearth {
namespace {

using std::chrono::milliseconds;

TEST(HttpServer, AnswersWithLengthDateAndRequestId) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/hello"));
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response && response->complete);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->Header("content-length"), "5");
  EXPECT_EQ(response->Header("connection"), "keep-alive");
  EXPECT_EQ(response->Header("x-extra"), "GET");
  EXPECT_TRUE(response->Header("date").ends_with(" GMT"));
  EXPECT_GE(response->Header("x-request-id").size(), 18u);
}

TEST(HttpServer, HandsOverMethodPathQueryAndBody) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Post("/a%20b/c%2Fd?x=1+2&y=%C3%A9&z", "the body"));
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response && response->complete);
  EXPECT_EQ(response->Header("x-method"), "POST");
  EXPECT_EQ(response->Header("x-path"), "/a b/c/d");
  EXPECT_EQ(response->Header("x-query"), "x=1 2");
  EXPECT_EQ(response->body, "the body");
}

TEST(HttpServer, EchoesASafeRequestIdAndMakesOneForOthers) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/hello", "X-Request-Id: trace_7:a.b-C\r\n"));
  EXPECT_EQ(client.ReadResponse()->Header("x-request-id"), "trace_7:a.b-C");
  for (const std::string& unsafe :
       {std::string("a b"), std::string(129, 'a'), std::string("a;b")}) {
    client.Send(Get("/hello", "X-Request-Id: " + unsafe + "\r\n"));
    const std::string made = client.ReadResponse()->Header("x-request-id");
    EXPECT_NE(made, unsafe);
    EXPECT_FALSE(made.empty());
  }
}

TEST(HttpServer, KeepsTheConnectionAndAnswersPipelinedRequestsInOrder) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += i % 2 == 0 ? Post("/echo", std::to_string(i)) : Get("/sleep?ms=1");
  }
  client.Send(all);
  for (int i = 0; i < 50; ++i) {
    const auto response = client.ReadResponse();
    ASSERT_TRUE(response && response->complete) << i;
    EXPECT_EQ(response->body, i % 2 == 0 ? std::to_string(i) : "slept");
  }
  EXPECT_EQ(test.server->counters().accepted_connections, 1u);
}

TEST(HttpServer, HeadHasTheLengthAndNoBody) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n" + Get("/echo"));
  const auto head = client.ReadResponse(true);
  EXPECT_EQ(head->Header("content-length"), "5");
  EXPECT_EQ(client.ReadResponse()->Header("x-path"), "/echo");
  client.Send("HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n" + Get("/hello"));
  EXPECT_EQ(client.ReadResponse(true)->Header("content-type"), "text/event-stream");
  EXPECT_EQ(client.ReadResponse()->body, "hello");
}

TEST(HttpServer, AnAnswerWithoutBodyHasNoLength) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/empty") + Get("/hello"));
  const auto response = client.ReadResponse();
  EXPECT_EQ(response->status, 204);
  EXPECT_EQ(response->Header("content-length"), "");
  EXPECT_EQ(client.ReadResponse()->body, "hello");
}

TEST(HttpServer, StreamsInChunksAndGoesOn) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/stream?count=5&bytes=1000") + Get("/hello"));
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response);
  EXPECT_TRUE(response->chunked && response->complete);
  EXPECT_EQ(response->body, std::string(5000, 's'));
  EXPECT_EQ(client.ReadResponse()->body, "hello");
}

TEST(HttpServer, AStreamWithoutItsEndIsCutOff) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/aborted_stream"));
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response);
  EXPECT_FALSE(response->complete);
  EXPECT_EQ(response->body, std::string(12, 's'));
  EXPECT_TRUE(client.ServerCloses());
}

TEST(HttpServer, SpeaksHttp10) {
  HttpTestServer test;
  RawHttpClient closing(test.port);
  closing.Send("GET /hello HTTP/1.0\r\n\r\n");
  const auto response = closing.ReadResponse();
  EXPECT_EQ(response->body, "hello");
  EXPECT_EQ(response->Header("connection"), "close");
  EXPECT_TRUE(closing.ServerCloses());

  RawHttpClient staying(test.port);
  staying.Send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(staying.ReadResponse()->Header("connection"), "keep-alive");
  staying.Send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto stream = staying.ReadResponse();
  EXPECT_FALSE(stream->chunked);
  EXPECT_EQ(stream->Header("connection"), "close");
  EXPECT_EQ(stream->body, std::string(12, 's'));
  EXPECT_TRUE(stream->complete);
}

TEST(HttpServer, ClosesWhenAsked) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/hello", "Connection: Keep-Alive, CLOSE\r\n") + Get("/hello"));
  EXPECT_EQ(client.ReadResponse()->Header("connection"), "close");
  EXPECT_TRUE(client.ServerCloses());
  EXPECT_EQ(test.service.handled, 1);
}

TEST(HttpServer, ReadsChunkedBodiesAndDropsTrailers) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;name=value\r\nhello\r\n006\r\n world\r\n0\r\nX-Method: evil\r\n\r\n" +
      Get("/hello")
  );
  const auto response = client.ReadResponse();
  EXPECT_EQ(response->body, "hello world");
  EXPECT_EQ(response->Header("x-headers"), "2");
  EXPECT_EQ(client.ReadResponse()->body, "hello");
}

TEST(HttpServer, SaysContinueBeforeABodyThatWaitsForIt) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 4\r\n\r\n"
  );
  EXPECT_EQ(client.ReadResponse(false, true)->status, 100);
  client.Send("body");
  EXPECT_EQ(client.ReadResponse(false, true)->body, "body");
  // Whoever sends the body at once needs no such word.
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody"
  );
  EXPECT_EQ(client.ReadResponse(false, true)->status, 200);
}

TEST(HttpServer, RefusesBeforeTheBodyIsSent) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(
      "POST /refused HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"
  );
  const auto response = client.ReadResponse(false, true);
  EXPECT_EQ(response->status, 403);
  EXPECT_EQ(response->body, "403 not let in");
  EXPECT_EQ(response->Header("content-type"), "application/x-test");
  EXPECT_EQ(response->Header("x-refused"), "yes");
  EXPECT_EQ(response->Header("x-extra"), "POST");
  EXPECT_EQ(response->Header("connection"), "close");
  client.CloseWriting();
  EXPECT_TRUE(client.ServerCloses());
  EXPECT_EQ(test.service.handled, 0);

  RawHttpClient staying(test.port);
  staying.Send(Get("/refused") + Get("/hello"));
  EXPECT_EQ(staying.ReadResponse()->status, 403);
  EXPECT_EQ(staying.ReadResponse()->status, 200);
}

TEST(HttpServer, AServiceThatFailsIsA500) {
  HttpTestServer test;
  for (const std::string path : {"/throws", "/silent", "/bad_header", "/admit_throws"}) {
    RawHttpClient client(test.port);
    client.Send(Get(path));
    const auto response = client.ReadResponse();
    ASSERT_TRUE(response) << path;
    EXPECT_EQ(response->status, 500) << path;
    EXPECT_EQ(response->body, "500 internal error") << path;
    EXPECT_EQ(response->Header("x-injected"), "") << path;
  }
}

TEST(HttpServer, AServiceMayAnswerFromAnotherExecutor) {
  HttpTestServer test({}, 2);
  RawHttpClient client(test.port);
  client.Send(Get("/elsewhere") + Get("/hello"));
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response && response->complete);
  EXPECT_TRUE(response->body.starts_with("0 1 2 3 "));
  EXPECT_TRUE(response->body.ends_with(" 98 99 "));
  EXPECT_EQ(client.ReadResponse()->body, "hello");
}

TEST(HttpServer, SendsLargeAnswersWhole) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/echo?bytes=3000000"));
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response && response->complete);
  EXPECT_EQ(response->body, std::string(3'000'000, 'x'));
}

TEST(HttpServer, TellsWhatBecameOfARequest) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/stream?count=2&bytes=10", "X-Request-Id: r1\r\n") + "BAD\r\n\r\n");
  client.ReadResponse();
  EXPECT_EQ(client.ReadResponse()->status, 400);
  ASSERT_TRUE(Eventually([&] { return test.service.records().size() == 2; }));
  const auto records = test.service.records();
  EXPECT_EQ(records[0].method, "GET");
  EXPECT_EQ(records[0].path, "/stream");
  EXPECT_EQ(records[0].id, "r1");
  EXPECT_EQ(records[0].status, 200);
  EXPECT_EQ(records[0].body_bytes, 20u);
  EXPECT_EQ(records[0].remote_address, "127.0.0.1");
  EXPECT_TRUE(records[0].complete);
  EXPECT_EQ(records[1].status, 400);
  EXPECT_EQ(records[1].method, "");
}

TEST(HttpListener, TellsThatThePortIsInUse) {
  const HttpListener first("127.0.0.1", 0);
  EXPECT_EQ(first.url(), "http://127.0.0.1:" + std::to_string(first.port()));
  EXPECT_TRUE(first.loopback());
  ExpectError(
      [&] { HttpListener("127.0.0.1", first.port()); }, ErrorCode::kIo, "the port is in use"
  );
  ExpectError(
      [&] { HttpListener("nowhere.example", 0); },
      ErrorCode::kInvalidArgument,
      "got nowhere.example, wanted an IP address or localhost"
  );
}

}  // namespace
}  // namespace hearth
