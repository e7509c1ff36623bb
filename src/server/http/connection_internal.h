// One client's connection: requests are read, let in and answered one after another.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/http/buffered_socket_internal.h"
#include "server/http/http_limits.h"
#include "server/http/http_service.h"
#include "server/http/request_parser.h"

namespace hearth {

// What the connections of a server share.
struct HttpServerShared {
  HttpService& service;
  HttpLimits limits;
  std::string id_prefix;  // of the request ids that we make

  std::atomic<std::uint64_t> made_ids{0};
  std::atomic<std::uint64_t> accepted_connections{0};
  std::atomic<std::uint64_t> refused_connections{0};
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> faults{0};
  std::atomic<std::uint64_t> aborted_requests{0};
  std::atomic<std::size_t> open_connections{0};
  std::atomic<std::size_t> running_requests{0};
  std::atomic<std::size_t> buffered_body_bytes{0};
};

// A part of the bytes that the bodies of all connections may take together. Given back by its end.
class BodyLease {
 public:
  explicit BodyLease(HttpServerShared& shared) : shared_(shared) {}

  ~BodyLease() { shared_.buffered_body_bytes -= bytes_; }

  BodyLease(const BodyLease&) = delete;
  BodyLease& operator=(const BodyLease&) = delete;

  // False when that would be too much; then it is as before.
  bool Grow(std::size_t bytes);

 private:
  HttpServerShared& shared_;
  std::size_t bytes_ = 0;
};

// Life:    its coroutine holds it.
// Threads: the socket's executor for everything but gone().
class HttpConnection {
 public:
  HttpConnection(boost::asio::ip::tcp::socket socket, HttpServerShared& shared);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Until the connection ends. Does not throw.
  static boost::asio::awaitable<void> Serve(std::shared_ptr<HttpConnection> self);

  // Answers 503 to whatever comes, for a connection too many. Does not throw.
  static boost::asio::awaitable<void> TurnAway(std::shared_ptr<HttpConnection> self);

  auto executor() { return socket_->executor(); }

  // No request after the one that is being read or answered.
  void Drain();

  // The end, now.
  void Abort();

  // What HttpExchange stands for.
  HttpRequest& request() { return parser_->request(); }

  boost::asio::awaitable<bool> Respond(HttpResponse response);
  boost::asio::awaitable<bool> BeginStream(int status, HttpHeaders headers);
  boost::asio::awaitable<bool> WriteChunk(std::string bytes);
  boost::asio::awaitable<bool> EndStream();
  std::optional<GoneReason> gone() const;
  void OnGone(std::function<void(GoneReason)> callback);
  boost::asio::awaitable<std::optional<GoneReason>> WaitGone();

 private:
  // How reading went on: there is what was wanted, the client is to hear a fault, or nobody is there.
  enum class Reading { kReady, kFault, kClosed };

  enum class AnswerPhase { kNone, kStreaming, kDone };

  // The answer that is being given, and what it depends on: kept apart from the request, which the service may take.
  struct Answer {
    AnswerPhase phase = AnswerPhase::kNone;
    bool head_only = false;  // HEAD
    bool chunked = false;
    bool keep_alive = false;  // what the answer said
    bool failed = false;      // bytes of it could not be sent
    bool begun_sending = false;
    bool writing = false;
    HttpHeaders extra_headers;
    HttpRecord record;
    std::chrono::steady_clock::time_point begun;
  };

  boost::asio::awaitable<bool> ServeRequest();
  boost::asio::awaitable<Reading> ReadHead();
  boost::asio::awaitable<Reading> ReadBody(BodyLease& lease);
  boost::asio::awaitable<void> RunService();
  boost::asio::awaitable<void> AnswerFault();
  boost::asio::awaitable<void> AnswerError(int status, std::string message, HttpHeaders headers);
  boost::asio::awaitable<bool> WriteAnswer(std::string bytes);
  void BeginRequest();
  void BeginAnswer();
  void Finish();
  std::optional<HttpRefusal> Admit();
  void OnSocketChange();
  void NoticeGone(GoneReason reason);
  void Refuse(int status, std::string message);
  std::string TakeHead(int status, const HttpHeaders& headers, bool stream, std::size_t length);
  bool MayStay() const;
  std::string RequestId();

  HttpServerShared& shared_;
  std::shared_ptr<BufferedSocket> socket_;
  boost::asio::steady_timer gone_wake_;
  std::string remote_address_;
  std::uint16_t remote_port_ = 0;
  std::optional<RequestParser> parser_;
  std::optional<HttpFault> fault_;
  Answer answer_;
  std::vector<std::function<void(GoneReason)>> on_gone_;
  std::atomic<int> gone_{-1};
  std::size_t served_ = 0;
  bool running_ = false;  // the service has the request
  bool draining_ = false;
};

}  // namespace hearth
