// Each limit of the server, met by a client that passes it.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "hearth/error.h"
#include "server/http/http_server.h"
#include "server/http/http_test_service.h"
#include "support/expect_error.h"
#include "support/raw_http_client.h"

namespace hearth {
namespace {

using std::chrono::milliseconds;

const std::string kGet = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n";

std::string PostHead(std::size_t length) {
  return "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

// The status of the answer to `bytes`, after which the server must close; 0 when it closes without one.
int StatusAndClose(std::uint16_t port, const std::string& bytes) {
  RawHttpClient client(port);
  client.Send(bytes);
  const auto response = client.ReadResponse();
  if (response) {
    EXPECT_TRUE(response->complete);
    EXPECT_EQ(response->Header("connection"), "close");
    EXPECT_EQ(response->Header("content-type"), "application/x-test");
  }
  client.CloseWriting();
  EXPECT_TRUE(client.ServerCloses());
  return response ? response->status : 0;
}

TEST(HttpLimits, RequestLine) {
  HttpLimits limits;
  limits.max_request_line_bytes = 100;
  HttpTestServer test(limits);
  const std::string frame = "GET / HTTP/1.1\r\n";
  const auto request = [&](std::size_t bytes) {
    return "GET /" + std::string(bytes - frame.size(), 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  RawHttpClient client(test.port);
  client.Send(request(100));
  EXPECT_EQ(client.ReadResponse()->status, 200);
  EXPECT_EQ(StatusAndClose(test.port, request(101)), 414);
  // It is refused before its end has come.
  EXPECT_EQ(StatusAndClose(test.port, "GET /" + std::string(200, 'a')), 414);
}

TEST(HttpLimits, BytesOfTheHead) {
  HttpLimits limits;
  limits.max_head_bytes = 1000;
  HttpTestServer test(limits);
  const std::string rest = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n";
  const auto request = [&](std::size_t bytes) {
    return "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(bytes - rest.size(), 'a') + "\r\n\r\n";
  };
  RawHttpClient client(test.port);
  client.Send(request(1000));
  EXPECT_EQ(client.ReadResponse()->status, 200);
  EXPECT_EQ(StatusAndClose(test.port, request(1001)), 431);
}

TEST(HttpLimits, NumberOfHeaders) {
  HttpLimits limits;
  limits.max_headers = 10;
  HttpTestServer test(limits);
  const auto request = [](int count) {
    std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (int i = 1; i < count; ++i) {
      head += "X: y\r\n";
    }
    return head + "\r\n";
  };
  RawHttpClient client(test.port);
  client.Send(request(10));
  EXPECT_EQ(client.ReadResponse()->status, 200);
  EXPECT_EQ(StatusAndClose(test.port, request(11)), 431);
}

TEST(HttpLimits, BodyByLengthIsRefusedUnread) {
  HttpLimits limits;
  limits.max_body_bytes = 1000;
  HttpTestServer test(limits);
  RawHttpClient client(test.port);
  client.Send(PostHead(1000) + std::string(1000, 'b'));
  EXPECT_EQ(client.ReadResponse()->body.size(), 1000u);
  EXPECT_EQ(StatusAndClose(test.port, PostHead(1001)), 413);
  EXPECT_EQ(StatusAndClose(test.port, PostHead(std::size_t{1} << 40)), 413);
  EXPECT_EQ(StatusAndClose(test.port, PostHead(5000) + std::string(5000, 'b')), 413);
}

TEST(HttpLimits, BodyInChunksIsRefusedAtTheChunkThatPasses) {
  HttpLimits limits;
  limits.max_body_bytes = 1000;
  HttpTestServer test(limits);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "1f4\r\n" + std::string(500, 'c') + "\r\n";
  RawHttpClient client(test.port);
  client.Send(head + chunk + chunk + "0\r\n\r\n");
  EXPECT_EQ(client.ReadResponse()->body.size(), 1000u);
  EXPECT_EQ(StatusAndClose(test.port, head + chunk + chunk + "1\r\n"), 413);
  EXPECT_EQ(StatusAndClose(test.port, head + "ffffffffffffffff\r\n"), 413);
}

TEST(HttpLimits, ChunkFraming) {
  HttpLimits limits;
  limits.max_chunk_framing_bytes = 1000;
  HttpTestServer test(limits);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(StatusAndClose(test.port, head + std::string(2000, '0')), 431);
  EXPECT_EQ(StatusAndClose(test.port, head + "0\r\nTrailer: " + std::string(2000, 't')), 431);
  std::string extended = head;
  for (int i = 0; i < 3; ++i) {
    extended += "1;" + std::string(400, 'e') + "\r\nx\r\n";
  }
  EXPECT_EQ(StatusAndClose(test.port, extended + "0\r\n\r\n"), 400);
}

TEST(HttpLimits, BodiesOfAllConnectionsTogether) {
  HttpLimits limits;
  limits.max_body_bytes = 100'000;
  limits.max_buffered_body_bytes = 100'000;
  HttpTestServer test(limits);
  RawHttpClient first(test.port);
  first.Send(PostHead(60'001) + std::string(60'000, 'b'));
  ASSERT_TRUE(Eventually([&] { return test.server->counters().buffered_body_bytes == 60'000; }));
  RawHttpClient second(test.port);
  second.Send(PostHead(60'000) + std::string(60'000, 'b'));
  const auto refused = second.ReadResponse();
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->Header("retry-after"), "1");
  first.Send("b");
  EXPECT_EQ(first.ReadResponse()->body.size(), 60'001u);
  EXPECT_TRUE(Eventually([&] { return test.server->counters().buffered_body_bytes == 0; }));
}

TEST(HttpLimits, TimeForTheHead) {
  HttpLimits limits;
  limits.header_timeout = milliseconds(100);
  HttpTestServer test(limits);
  EXPECT_EQ(StatusAndClose(test.port, "GET / HTTP/1.1\r\nHost:"), 408);
  EXPECT_EQ(StatusAndClose(test.port, ""), 0);
  // The second request has no more time than the first.
  RawHttpClient again(test.port);
  again.Send(kGet);
  EXPECT_EQ(again.ReadResponse()->status, 200);
  again.Send("GET /");
  EXPECT_EQ(again.ReadResponse()->status, 408);
  // Drop by drop does not help.
  RawHttpClient drops(test.port);
  drops.Send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 15; ++i) {
    drops.Send("X: y\r\n");
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(drops.ReadResponse()->status, 408);
}

TEST(HttpLimits, TimeForTheBody) {
  HttpLimits limits;
  limits.body_timeout = milliseconds(100);
  HttpTestServer test(limits);
  EXPECT_EQ(StatusAndClose(test.port, PostHead(10) + "123"), 408);
  EXPECT_EQ(test.service.handled, 0);
}

TEST(HttpLimits, IdleTimeBetweenRequests) {
  HttpLimits limits;
  limits.keep_alive_timeout = milliseconds(100);
  HttpTestServer test(limits);
  RawHttpClient client(test.port);
  client.Send(kGet);
  EXPECT_EQ(client.ReadResponse()->status, 200);
  EXPECT_TRUE(client.ServerCloses());
}

TEST(HttpLimits, TimeForAWrite) {
  HttpLimits limits;
  limits.write_timeout = milliseconds(200);
  HttpTestServer test(limits);
  RawHttpClient client(test.port);
  client.ShrinkReceiveBuffer();
  client.Send("GET /stream?count=100000&bytes=10000 HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([&] { return test.service.records().size() == 1; }));
  EXPECT_FALSE(test.service.records().front().complete);
  EXPECT_EQ(test.service.last_gone, static_cast<int>(GoneReason::kStalled));
  EXPECT_LT(test.service.chunks_written, 10'000u);
}

TEST(HttpLimits, Connections) {
  HttpLimits limits;
  limits.max_connections = 2;
  HttpTestServer test(limits);
  RawHttpClient first(test.port);
  auto second = std::make_unique<RawHttpClient>(test.port);
  for (RawHttpClient* client : {&first, second.get()}) {
    client->Send(kGet);
    EXPECT_EQ(client->ReadResponse()->status, 200);
  }
  RawHttpClient third(test.port);
  const auto refused = third.ReadResponse();
  ASSERT_TRUE(refused && refused->complete);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->Header("retry-after"), "1");
  EXPECT_EQ(test.server->counters().refused_connections, 1u);
  second.reset();
  ASSERT_TRUE(Eventually([&] { return test.server->counters().open_connections == 1; }));
  RawHttpClient fourth(test.port);
  fourth.Send(kGet);
  EXPECT_EQ(fourth.ReadResponse()->status, 200);
}

TEST(HttpLimits, ConnectionsThatAreTurnedAway) {
  HttpLimits limits;
  limits.max_connections = 1;
  limits.max_refusals = 1;
  HttpTestServer test(limits);
  RawHttpClient first(test.port);
  first.Send(kGet);
  EXPECT_EQ(first.ReadResponse()->status, 200);
  RawHttpClient told(test.port);
  EXPECT_EQ(told.ReadResponse()->status, 503);
  RawHttpClient dropped(test.port);
  EXPECT_TRUE(dropped.ServerCloses());
}

TEST(HttpLimits, RequestsOfAConnection) {
  HttpLimits limits;
  limits.max_requests_per_connection = 3;
  HttpTestServer test(limits);
  RawHttpClient client(test.port);
  client.Send(kGet + kGet + kGet + kGet);
  EXPECT_EQ(client.ReadResponse()->Header("connection"), "keep-alive");
  EXPECT_EQ(client.ReadResponse()->Header("connection"), "keep-alive");
  EXPECT_EQ(client.ReadResponse()->Header("connection"), "close");
  EXPECT_TRUE(client.ServerCloses());
}

TEST(HttpLimits, AClientThatSendsOnAfterARefusalHearsIt) {
  HttpLimits limits;
  limits.max_body_bytes = 1000;
  HttpTestServer test(limits);
  RawHttpClient client(test.port);
  client.Send(PostHead(20'000'000));
  const std::string piece(100'000, 'b');
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(client.Send(piece)) << i;
  }
  EXPECT_EQ(client.ReadResponse()->status, 413);
}

TEST(HttpLimits, ButNotForever) {
  HttpLimits limits;
  limits.max_body_bytes = 1000;
  limits.linger_timeout = milliseconds(100);
  HttpTestServer test(limits);
  RawHttpClient client(test.port);
  client.Send(PostHead(20'000'000));
  EXPECT_TRUE(Eventually([&] { return test.server->counters().open_connections == 0; }));
}

TEST(HttpLimits, AThousandAbortsLeaveNothing) {
  HttpTestServer test;
  for (int i = 0; i < 1000; ++i) {
    RawHttpClient client(test.port);
    client.Send(
        i % 3 == 0   ? "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"
        : i % 3 == 1 ? PostHead(1000) + "part"
                     : "GET /stream?count=1000&bytes=1000 HTTP/1.1\r\nHost: a\r\n\r\n"
    );
    if (i % 2 == 0) {
      client.Reset();
    }
  }
  EXPECT_TRUE(Eventually([&] {
    const HttpCounters counters = test.server->counters();
    return counters.accepted_connections == 1000 && counters.open_connections == 0 &&
           counters.running_requests == 0 && counters.buffered_body_bytes == 0;
  }));
  RawHttpClient client(test.port);
  client.Send(kGet);
  EXPECT_EQ(client.ReadResponse()->status, 200);
}

TEST(HttpLimits, AreChecked) {
  HttpLimits limits;
  limits.max_headers = 0;
  ExpectError([&] { limits.Validate(); }, ErrorCode::kInvalidArgument, "max_headers");
  limits = HttpLimits();
  limits.write_timeout = milliseconds(-1);
  ExpectError([&] { limits.Validate(); }, ErrorCode::kInvalidArgument, "write_timeout");
  limits = HttpLimits();
  limits.max_pipelined_bytes = limits.max_chunk_framing_bytes;
  ExpectError([&] { limits.Validate(); }, ErrorCode::kInvalidArgument, "max_pipelined_bytes");
  limits = HttpLimits();
  limits.max_buffered_body_bytes = limits.max_body_bytes - 1;
  ExpectError([&] { limits.Validate(); }, ErrorCode::kInvalidArgument, "max_buffered_body_bytes");
  HttpTestService service;
  HttpServerOptions options;
  options.threads = 0;
  ExpectError(
      [&] { HttpServer(HttpListener("127.0.0.1", 0), service, options); },
      ErrorCode::kInvalidArgument,
      "got 0 threads"
  );
}

}  // namespace
}  // namespace hearth
