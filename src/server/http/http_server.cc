#include "server/http/http_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "platform/job_thread.h"
#include "platform/log.h"
#include "platform/random_seed.h"
#include "server/http/connection_internal.h"

namespace hearth {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostThreads = 64;
// After accepting has failed (no file descriptors left, mostly), before it is tried again.
constexpr std::chrono::milliseconds kAcceptPause{100};

std::string IdPrefix() {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%016llx-", static_cast<unsigned long long>(FreshSeed()));
  return text.data();
}

HttpServerOptions Checked(HttpServerOptions options) {
  options.limits.Validate();
  if (options.threads < 1 || options.threads > kMostThreads) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "HTTP server: got " + std::to_string(options.threads) + " threads, wanted 1 to " +
            std::to_string(kMostThreads)
    );
  }
  return options;
}

}  // namespace

// Everything below the counters belongs to `control`.
struct HttpServer::State {
  State(HttpService& service, const HttpLimits& limits)
      : shared{service, limits, IdPrefix()},
        control(asio::make_strand(context)),
        acceptor(control),
        accept_pause(control),
        stop_timer(control) {}

  // GCC 12 wants coroutines that capture nothing; the state outlives the threads that run them.
  static asio::awaitable<void> Accept(State* state);
  static asio::awaitable<void> Run(State* state, std::shared_ptr<HttpConnection> connection);
  static asio::awaitable<void> TurnAway(State* state, std::shared_ptr<HttpConnection> connection);

  void Take(tcp::socket socket);
  void Ended(const std::shared_ptr<HttpConnection>& connection);
  void StopAt(Clock::time_point at);
  void AbortAll();
  void RunThread() noexcept;

  HttpServerShared shared;
  asio::io_context context;
  asio::strand<asio::io_context::executor_type> control;
  tcp::acceptor acceptor;
  asio::steady_timer accept_pause;
  asio::steady_timer stop_timer;
  std::map<HttpConnection*, std::shared_ptr<HttpConnection>> connections;
  std::size_t serving = 0;
  std::size_t turning_away = 0;
  bool stopping = false;
  Clock::time_point stop_at = Clock::time_point::max();
  std::vector<std::unique_ptr<JobThread>> threads;  // ends first
};

asio::awaitable<void> HttpServer::State::Accept(State* state) {
  bool failing = false;  // a line of the log for each time that it begins
  while (!state->stopping) {
    auto accepting = state->acceptor.async_accept(
        asio::make_strand(state->context), asio::as_tuple(asio::use_awaitable)
    );
    auto [ec, socket] = co_await std::move(accepting);
    if (state->stopping) {
      co_return;
    }
    if (!ec) {
      failing = false;
      state->Take(std::move(socket));
      continue;
    }
    if (!std::exchange(failing, true)) {
      Log(LogLevel::kWarning, "HTTP server: cannot accept connections: " + ec.message());
    }
    state->accept_pause.expires_after(kAcceptPause);
    auto pausing = state->accept_pause.async_wait(asio::as_tuple(asio::use_awaitable));
    co_await std::move(pausing);
  }
}

void HttpServer::State::Take(tcp::socket socket) {
  const bool one_too_many = serving >= shared.limits.max_connections;
  if (one_too_many) {
    ++shared.refused_connections;
    if (turning_away >= shared.limits.max_refusals) {
      return;
    }
  } else {
    ++shared.accepted_connections;
  }
  try {
    const auto connection = std::make_shared<HttpConnection>(std::move(socket), shared);
    connections.emplace(connection.get(), connection);
    if (one_too_many) {
      ++turning_away;
      asio::co_spawn(connection->executor(), TurnAway(this, connection), asio::detached);
    } else {
      shared.open_connections = ++serving;
      asio::co_spawn(connection->executor(), Run(this, connection), asio::detached);
    }
  } catch (const std::exception& error) {
    Log(LogLevel::kError, std::string("HTTP server: a connection is dropped: ") + error.what());
  }
}

asio::awaitable<void> HttpServer::State::Run(
    State* state, std::shared_ptr<HttpConnection> connection
) {
  auto serving_it = HttpConnection::Serve(connection);
  co_await std::move(serving_it);
  asio::post(state->control, [state, connection] {
    state->shared.open_connections = --state->serving;
    state->Ended(connection);
  });
}

asio::awaitable<void> HttpServer::State::TurnAway(
    State* state, std::shared_ptr<HttpConnection> connection
) {
  auto turning = HttpConnection::TurnAway(connection);
  co_await std::move(turning);
  asio::post(state->control, [state, connection] {
    --state->turning_away;
    state->Ended(connection);
  });
}

void HttpServer::State::Ended(const std::shared_ptr<HttpConnection>& connection) {
  connections.erase(connection.get());
  if (connections.empty()) {
    stop_timer.cancel();
  }
}

void HttpServer::State::StopAt(Clock::time_point at) {
  if (!std::exchange(stopping, true)) {
    error_code ignored;  // it accepts no more either way
    acceptor.close(ignored);
    accept_pause.cancel();
    for (const auto& [key, connection] : connections) {
      asio::post(connection->executor(), [held = connection] { held->Drain(); });
    }
  }
  stop_at = std::min(stop_at, at);
  if (connections.empty()) {
    return;
  }
  stop_timer.expires_at(stop_at);
  stop_timer.async_wait([this](const error_code& ec) {
    if (!ec) {
      AbortAll();
    }
  });
}

void HttpServer::State::AbortAll() {
  for (const auto& [key, connection] : connections) {
    asio::post(connection->executor(), [held = connection] { held->Abort(); });
  }
}

void HttpServer::State::RunThread() noexcept {
  while (true) {
    try {
      context.run();
      return;
    } catch (const std::exception& error) {
      Log(LogLevel::kError, std::string("HTTP server: ") + error.what());
    }
  }
}

HttpServer::HttpServer(HttpListener listener, HttpService& service, HttpServerOptions options) {
  options = Checked(options);
  state_ = std::make_unique<State>(service, options.limits);
  State* const state = state_.get();
  const bool v6 = listener.address().find(':') != std::string::npos;
  error_code ec;
  state->acceptor.assign(v6 ? tcp::v6() : tcp::v4(), listener.socket(), ec);
  if (ec) {
    throw Error(ErrorCode::kIo, listener.url() + ": cannot be served: " + ec.message());
  }
  listener.Release();
  asio::co_spawn(state->control, State::Accept(state), asio::detached);
  for (std::size_t i = 0; i < options.threads; ++i) {
    state->threads.push_back(std::make_unique<JobThread>("hearth-http"));
  }
  for (const std::unique_ptr<JobThread>& thread : state->threads) {
    thread->Start([state] { state->RunThread(); });
  }
}

HttpServer::~HttpServer() {
  Stop(std::chrono::milliseconds(0));
}

void HttpServer::BeginStop(std::chrono::milliseconds grace) {
  State* const state = state_.get();
  asio::post(state->control, [state, at = Clock::now() + grace] { state->StopAt(at); });
}

void HttpServer::Wait() {
  for (const std::unique_ptr<JobThread>& thread : state_->threads) {
    thread->Wait();
  }
}

HttpCounters HttpServer::counters() const {
  const HttpServerShared& shared = state_->shared;
  HttpCounters counters;
  counters.accepted_connections = shared.accepted_connections;
  counters.refused_connections = shared.refused_connections;
  counters.requests = shared.requests;
  counters.faults = shared.faults;
  counters.aborted_requests = shared.aborted_requests;
  counters.open_connections = shared.open_connections;
  counters.running_requests = shared.running_requests;
  counters.buffered_body_bytes = shared.buffered_body_bytes;
  return counters;
}

}  // namespace hearth
