// The HTTP server: connections, limits, keep-alive and an orderly end, in front of one service. Plain HTTP/1.1 and 1.0.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/http/http_limits.h"
#include "server/http/http_listener.h"
#include "server/http/http_service.h"

namespace hearth {

struct HttpServerOptions {
  std::size_t threads = 1;  // 1 to 64 I/O threads
  HttpLimits limits;
};

// Counts since the start, and what is open now. Each is right by itself; they are not one moment's.
struct HttpCounters {
  std::uint64_t accepted_connections = 0;
  std::uint64_t refused_connections = 0;  // over max_connections
  std::uint64_t requests = 0;             // heads that were read, and faults
  std::uint64_t faults = 0;               // requests that HTTP itself refused
  std::uint64_t aborted_requests = 0;     // cut off by the end of the server
  std::size_t open_connections = 0;
  std::size_t running_requests = 0;  // with the service
  std::size_t buffered_body_bytes = 0;
};

// Serves a listener from its construction on, on threads of its own.
// Life:      the service must outlive it. The destructor stops at once and waits.
// Threads:   Stop, BeginStop, Wait and counters from any thread but the server's own.
// Errors:    the constructor: kInvalidArgument for limits and options that make no sense, kResourceExhausted when there
//            is no thread. Later ones are answers to clients and lines of the log.
class HttpServer {
 public:
  HttpServer(HttpListener listener, HttpService& service, HttpServerOptions options = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Accepts no more and closes idle connections; requests that are being read or answered may go on for `grace` (their answers
  // say "Connection: close"), then the rest is cut off: the service hears kStopping. A later call can only shorten the time; 0 is now. Returns at once.
  void BeginStop(std::chrono::milliseconds grace);

  // Returns when every connection has ended and the service runs nothing any more.
  void Wait();

  void Stop(std::chrono::milliseconds grace) {
    BeginStop(grace);
    Wait();
  }

  HttpCounters counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
