// What stands behind the HTTP server: the interface that its owner implements.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http_message.h"

namespace hearth {

// Why nobody waits for an answer any more.
enum class GoneReason {
  kClosed,    // the client ended its side of the connection; a short answer may still reach it
  kReset,     // the connection broke
  kStalled,   // the client did not take bytes in time
  kStopping,  // the server ends at once
};

class HttpConnection;

// One request and the way to answer it. Exactly one answer: Respond, or BeginStream, chunks, EndStream.
// Client gone: a client that closes its sending side counts as gone (as in Go's and nginx's servers), because a killed client looks
//   the same until something is written to it, and a request that nobody waits for would compute on. It is a notice, not
//   an end: what is written after it still goes out, so a client that half-closes gets every answer that does not heed the
//   notice. While a client has sent ahead max_pipelined_bytes, only a reset is noticed.
// Ownership: lives in Handle; nobody keeps it afterwards.
// Threads:   the coroutines Respond, BeginStream, WriteChunk and EndStream may be awaited on any executor, one at a time, and resume on the one of
//            their caller. gone() from any thread. OnGone and WaitGone on the executor that Handle began on.
// Errors:    kInternal when the order of calls or a header is wrong. That the client is gone is a `false`, no error.
class HttpExchange {
 public:
  explicit HttpExchange(HttpConnection& connection) : connection_(connection) {}

  HttpExchange(const HttpExchange&) = delete;
  HttpExchange& operator=(const HttpExchange&) = delete;

  // The service may move parts out of it.
  HttpRequest& request();

  // The whole answer. To HEAD only its head is sent. False when the client cannot be reached.
  boost::asio::awaitable<bool> Respond(HttpResponse response);

  // The head of a stream, sent at once.
  boost::asio::awaitable<bool> BeginStream(int status, HttpHeaders headers);

  // Returns when the system has taken the bytes: backpressure. Nothing is sent for an empty one.
  boost::asio::awaitable<bool> WriteChunk(std::string bytes);

  // Without it a stream is an aborted one, which the client can tell from a complete one.
  boost::asio::awaitable<bool> EndStream();

  std::optional<GoneReason> gone() const;

  // Calls back once, on the connection's executor, when the client goes; at once if it has gone already. Forgotten when
  // Handle returns. It must not throw.
  void OnGone(std::function<void(GoneReason)> callback);

  // Returns when the client has gone, or nothing when this wait was cancelled or the exchange is over. For awaitable_operators and the like.
  boost::asio::awaitable<std::optional<GoneReason>> WaitGone();

 private:
  HttpConnection& connection_;
};

// What became of a request, for logs and metrics.
struct HttpRecord {
  std::string method;  // empty, as path, when the request was not understood
  std::string path;
  std::string id;
  std::string remote_address;
  int status = 0;                         // 499 when the client left before an answer began
  std::uint64_t body_bytes = 0;           // of the answer, as handed to the system, without framing
  std::chrono::microseconds duration{0};  // from the complete head to the end of the answer
  bool complete = false;                  // the whole answer was handed to the system
};

// Called on the server's I/O threads, for several connections at once if there are several threads.
class HttpService {
 public:
  virtual ~HttpService() = default;

  // Whether the request is let in, asked when its head is there and before its body is read. Must not block.
  // Errors: what it throws is a 500.
  virtual std::optional<HttpRefusal> Admit(const HttpRequest& /*head*/) { return std::nullopt; }

  // Answers. Begins on the connection's executor and may switch executors inside; what blocks must not run there. When the client has
  // gone it should end soon: the connection, and the end of the server, wait for it.
  // Errors: what it throws is logged, and is a 500 if the answer has not begun, else the end of the connection.
  virtual boost::asio::awaitable<void> Handle(HttpExchange& exchange) = 0;

  // Adds headers to the answer of a request whose head was read, whoever gives the answer.
  virtual void AddHeaders(const HttpRequest& /*head*/, HttpHeaders& /*headers*/) {}

  // The body of an answer that the server itself gives.
  virtual HttpErrorBody ErrorBody(int status, std::string_view message);

  // A request has ended.
  virtual void Finished(const HttpRecord& /*record*/) noexcept {}
};

}  // namespace hearth
