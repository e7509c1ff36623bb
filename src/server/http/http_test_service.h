// A service for tests of the server: each path shows one thing that a service may do.
#pragma once

#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/http/http_server.h"
#include "server/http/http_service.h"

namespace hearth {

// The requests of well-behaved clients.
inline std::string Get(const std::string& target, const std::string& headers = "") {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n";
}

inline std::string Post(const std::string& target, const std::string& body) {
  return "POST " + target +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// Whether it comes true within ten seconds.
template <typename Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

class HttpTestService final : public HttpService {
 public:
  std::optional<HttpRefusal> Admit(const HttpRequest& head) override {
    if (head.path == "/refused") {
      return HttpRefusal{403, "not let in", {{"X-Refused", "yes"}}};
    }
    if (head.path == "/admit_throws") {
      throw std::runtime_error("admission broke");
    }
    return std::nullopt;
  }

  void AddHeaders(const HttpRequest& head, HttpHeaders& headers) override {
    headers.Add("X-Extra", head.method);
  }

  HttpErrorBody ErrorBody(int status, std::string_view message) override {
    return {"application/x-test", std::to_string(status) + " " + std::string(message)};
  }

  void Finished(const HttpRecord& record) noexcept override {
    const std::lock_guard lock(mutex_);
    records_.push_back(record);
  }

  boost::asio::awaitable<void> Handle(HttpExchange& exchange) override {
    ++handled;
    const std::string path = exchange.request().path;
    if (path == "/stream" || path == "/aborted_stream") {
      co_await Stream(exchange);
    } else if (path == "/wait") {
      co_await WaitUntilGone(exchange);
    } else if (path == "/sleep") {
      co_await Sleep(exchange);
    } else if (path == "/elsewhere") {
      co_await AnswerElsewhere(exchange);
    } else if (path == "/throws") {
      throw std::runtime_error("the service broke");
    } else if (path == "/bad_header") {
      HttpResponse response{200, {{"X-Split", "a\r\nX-Injected: b"}}, ""};
      co_await exchange.Respond(std::move(response));
    } else if (path == "/empty") {
      HttpResponse response{204, {}, ""};
      co_await exchange.Respond(std::move(response));
    } else if (path != "/silent") {
      co_await Echo(exchange);
    }
  }

  std::vector<HttpRecord> records() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }

  std::atomic<int> handled{0};
  std::atomic<int> gone_callbacks{0};
  std::atomic<int> last_gone{-1};
  std::atomic<std::size_t> chunks_written{0};
  boost::asio::thread_pool elsewhere{1};

 private:
  static long Number(HttpExchange& exchange, std::string_view name, long otherwise) {
    const std::string* text = exchange.request().Parameter(name);
    return text == nullptr ? otherwise : std::atol(text->c_str());
  }

  static boost::asio::awaitable<void> Echo(HttpExchange& exchange) {
    HttpRequest& request = exchange.request();
    HttpResponse response;
    response.headers.Add("Content-Type", "text/plain");
    response.headers.Add("X-Method", request.method);
    response.headers.Add("X-Path", request.path);
    response.headers.Add("X-Headers", std::to_string(request.headers.size()));
    for (const HttpParameter& parameter : request.query) {
      response.headers.Add("X-Query", parameter.name + "=" + parameter.value);
    }
    response.body = request.path == "/hello" ? "hello" : std::move(request.body);
    if (const long bytes = Number(exchange, "bytes", 0); bytes > 0) {
      response.body.assign(static_cast<std::size_t>(bytes), 'x');
    }
    co_await exchange.Respond(std::move(response));
  }

  boost::asio::awaitable<void> Stream(HttpExchange& exchange) {
    const bool abort = exchange.request().path == "/aborted_stream";
    const long count = Number(exchange, "count", 3);
    const std::string piece(static_cast<std::size_t>(Number(exchange, "bytes", 4)), 's');
    HttpHeaders headers{{"Content-Type", "text/event-stream"}};
    bool reached = co_await exchange.BeginStream(200, std::move(headers));
    for (long i = 0; i < count && reached; ++i) {
      std::string chunk = piece;
      reached = co_await exchange.WriteChunk(std::move(chunk));
      chunks_written += reached ? 1 : 0;
    }
    if (exchange.gone()) {
      last_gone = static_cast<int>(*exchange.gone());
    }
    if (!abort) {
      co_await exchange.EndStream();
    }
  }

  boost::asio::awaitable<void> WaitUntilGone(HttpExchange& exchange) {
    exchange.OnGone([this](GoneReason) { ++gone_callbacks; });
    const auto reason = co_await exchange.WaitGone();
    last_gone = reason ? static_cast<int>(*reason) : -2;
    HttpResponse response{200, {}, "you were gone"};
    co_await exchange.Respond(std::move(response));
  }

  static boost::asio::awaitable<void> Sleep(HttpExchange& exchange) {
    boost::asio::steady_timer timer(
        co_await boost::asio::this_coro::executor,
        std::chrono::milliseconds(Number(exchange, "ms", 10))
    );
    co_await timer.async_wait(boost::asio::use_awaitable);
    HttpResponse response{200, {}, "slept"};
    co_await exchange.Respond(std::move(response));
  }

  // Ends on another executor than it began on.
  boost::asio::awaitable<void> AnswerElsewhere(HttpExchange& exchange) {
    auto hop = boost::asio::post(
        boost::asio::bind_executor(elsewhere.get_executor(), boost::asio::use_awaitable)
    );
    co_await std::move(hop);
    co_await exchange.BeginStream(200, {});
    for (int i = 0; i < 100; ++i) {
      auto again = boost::asio::post(
          boost::asio::bind_executor(elsewhere.get_executor(), boost::asio::use_awaitable)
      );
      co_await std::move(again);
      std::string chunk = std::to_string(i) + " ";
      co_await exchange.WriteChunk(std::move(chunk));
    }
    auto last = boost::asio::post(
        boost::asio::bind_executor(elsewhere.get_executor(), boost::asio::use_awaitable)
    );
    co_await exchange.EndStream();
    co_await std::move(last);
  }

  mutable std::mutex mutex_;
  std::vector<HttpRecord> records_;
};

// The service and a server in front of it, on a port that the system picks.
struct HttpTestServer {
  explicit HttpTestServer(HttpLimits limits = {}, std::size_t threads = 1) {
    HttpListener listener("127.0.0.1", 0);
    port = listener.port();
    HttpServerOptions options;
    options.threads = threads;
    options.limits = limits;
    server = std::make_unique<HttpServer>(std::move(listener), service, options);
  }

  HttpTestService service;
  std::uint16_t port = 0;
  std::unique_ptr<HttpServer> server;
};

}  // namespace hearth
