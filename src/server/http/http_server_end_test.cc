// Clients that leave, the end of the server, and both with many clients at once.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/http_test_service.h"
#include "support/raw_http_client.h"

namespace hearth {
namespace {

using std::chrono::milliseconds;

TEST(HttpServer, NoticesAClientThatIsKilled) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/wait"));
  ASSERT_TRUE(Eventually([&] { return test.service.handled == 1; }));
  client.Reset();
  EXPECT_TRUE(Eventually([&] { return test.service.records().size() == 1; }));
  EXPECT_EQ(test.service.last_gone, static_cast<int>(GoneReason::kReset));
  EXPECT_EQ(test.service.gone_callbacks, 1);
  EXPECT_EQ(test.service.records().front().status, 499);
  EXPECT_TRUE(Eventually([&] { return test.server->counters().open_connections == 0; }));
}

TEST(HttpServer, AClientThatHalfClosesIsTakenForGoneButGetsWhatIsWritten) {
  HttpTestServer test;
  RawHttpClient waiting(test.port);
  waiting.Send(Get("/wait"));
  waiting.CloseWriting();
  const auto response = waiting.ReadResponse();
  ASSERT_TRUE(response && response->complete);
  EXPECT_EQ(response->body, "you were gone");
  EXPECT_EQ(test.service.last_gone, static_cast<int>(GoneReason::kClosed));
  EXPECT_TRUE(waiting.ServerCloses());
  // What does not heed the notice is answered whole.
  RawHttpClient streaming(test.port);
  streaming.Send(Get("/sleep?ms=50"));
  streaming.CloseWriting();
  EXPECT_EQ(streaming.ReadResponse()->body, "slept");
}

TEST(HttpServer, NoticesAResetBehindManyPipelinedBytes) {
  HttpLimits limits;
  limits.max_pipelined_bytes = 16 * 1024;
  HttpTestServer test(limits);
  RawHttpClient client(test.port);
  client.Send(Get("/wait") + std::string(200'000, 'x'));
  ASSERT_TRUE(Eventually([&] { return test.service.handled == 1; }));
  std::this_thread::sleep_for(milliseconds(20));
  client.Reset();
  EXPECT_TRUE(Eventually([&] { return test.service.gone_callbacks == 1; }));
}

TEST(HttpServer, ManyClientsOnSeveralThreads) {
  HttpTestServer test({}, 3);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      RawHttpClient client(test.port);
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(t) + "/" + std::to_string(i);
        client.Send(i % 3 == 0 ? Get("/stream?count=20") : Post("/echo", body));
        const auto response = client.ReadResponse();
        const std::string wanted = i % 3 == 0 ? std::string(80, 's') : body;
        right += response && response->body == wanted ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 8 * 50);
}

TEST(HttpServer, StopClosesIdleConnectionsAndLetsRunningRequestsFinish) {
  HttpTestServer test;
  RawHttpClient idle(test.port);
  idle.Send(Get("/hello"));
  idle.ReadResponse();
  RawHttpClient busy(test.port);
  busy.Send(Get("/sleep?ms=300"));
  ASSERT_TRUE(Eventually([&] { return test.service.handled == 2; }));
  test.server->BeginStop(milliseconds(20'000));
  EXPECT_TRUE(idle.ServerCloses());
  EXPECT_THROW(
      {
        RawHttpClient late(test.port);
        if (late.ServerCloses()) {
          throw std::runtime_error("closed");
        }
      },
      std::runtime_error
  );
  const auto response = busy.ReadResponse();
  EXPECT_EQ(response->body, "slept");
  EXPECT_EQ(response->Header("connection"), "close");
  test.server->Wait();
  EXPECT_EQ(test.server->counters().aborted_requests, 0u);
}

TEST(HttpServer, StopCutsOffWhatTakesTooLong) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/wait"));
  ASSERT_TRUE(Eventually([&] { return test.service.handled == 1; }));
  test.server->Stop(milliseconds(50));
  EXPECT_EQ(test.service.last_gone, static_cast<int>(GoneReason::kStopping));
  EXPECT_EQ(test.server->counters().aborted_requests, 1u);
  EXPECT_TRUE(client.ServerCloses());
}

TEST(HttpServer, ASecondStopIsAtOnce) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send(Get("/wait"));
  ASSERT_TRUE(Eventually([&] { return test.service.handled == 1; }));
  test.server->BeginStop(milliseconds(3'600'000));
  const auto begun = std::chrono::steady_clock::now();
  test.server->Stop(milliseconds(0));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
}

// One of the many clients: asks for this and that, and sometimes leaves without a word, until the server is gone.
void AskUntilTheEnd(std::uint16_t port, int number, std::atomic<int>& wrong) {
  for (int i = number; i < 100'000; ++i) {
    try {
      RawHttpClient client(port);
      const std::string body(static_cast<std::size_t>(i % 7) * 1000, 'b');
      client.Send(i % 2 == 0 ? Post("/echo", body) : Get("/elsewhere"));
      if (i % 5 == 0) {
        client.Reset();
        continue;
      }
      const auto response = client.ReadResponse();
      if (!response) {
        return;
      }
      // Cut off by the end of the server, or whole and right.
      wrong += response->complete && i % 2 == 0 && response->body != body ? 1 : 0;
      wrong += response->complete && i % 2 == 1 && !response->body.ends_with(" 99 ") ? 1 : 0;
    } catch (const std::runtime_error&) {
      return;  // nobody listens any more
    }
  }
}

TEST(HttpServer, StopsUnderLoad) {
  for (const int grace : {0, 50}) {
    HttpTestServer test({}, 3);
    std::atomic<int> wrong{0};
    std::vector<std::thread> clients;
    for (int number = 0; number < 6; ++number) {
      clients.emplace_back([&, number] { AskUntilTheEnd(test.port, number, wrong); });
    }
    EXPECT_TRUE(Eventually([&] { return test.service.handled > 100; }));
    test.server->Stop(milliseconds(grace));
    const HttpCounters counters = test.server->counters();
    for (std::thread& client : clients) {
      client.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(counters.open_connections, 0u);
    EXPECT_EQ(counters.running_requests, 0u);
    EXPECT_EQ(counters.buffered_body_bytes, 0u);
  }
}

TEST(HttpServer, StopWaitsForABodyNoLongerThanTheGrace) {
  HttpTestServer test;
  RawHttpClient client(test.port);
  client.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(Eventually([&] { return test.server->counters().buffered_body_bytes == 5; }));
  test.server->BeginStop(milliseconds(10'000));
  client.Send("67890");
  EXPECT_EQ(client.ReadResponse()->body, "1234567890");
  test.server->Wait();

  HttpTestServer impatient;
  RawHttpClient slow(impatient.port);
  slow.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345");
  ASSERT_TRUE(Eventually([&] { return impatient.server->counters().buffered_body_bytes == 5; }));
  impatient.server->Stop(milliseconds(50));
  EXPECT_TRUE(slow.ServerCloses());
}

}  // namespace
}  // namespace hearth
