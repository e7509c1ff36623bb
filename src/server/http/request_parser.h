// Bytes to requests: one strict reading of each, or a fault. No sockets and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "server/http/http_limits.h"
#include "server/http/http_message.h"
#include "server/http/request_head.h"

namespace hearth {

// Reads one request: the head (HeadScanner, then Boost.Beast), what it says about the body's frame, and the body by length or
// in chunks (Beast). Where a sender and a receiver on the way could disagree about where a request ends, it is a fault:
// Content-Length beside Transfer-Encoding, more than one of either, a length that is not only digits, a coding other than
// "chunked", chunks in HTTP/1.0, chunk sizes and extensions outside the
// grammar (chunk_line.h). Trailers are checked and dropped.
// Life:      feed it until kDone or a fault; a connection makes a new one for each request.
// Threads:   one at a time. Errors: none thrown but for memory; faults are values.
class RequestParser {
 public:
  enum class State {
    kHead,
    kBody,  // the head is complete, its body is not
    kDone,
    kFault,
  };

  explicit RequestParser(const HttpLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes bytes from the front and returns how many. Stops after the head, once, so that the caller may look at it before
  // the body comes; and after the request. Bytes that it leaves before that (part of a chunk's line) must be given again
  // with those that follow them.
  std::size_t Feed(std::string_view bytes);

  State state() const;

  // Whether a byte of the request has come.
  bool started() const;

  // Of state kFault.
  const HttpFault& fault() const;

  // Complete from kBody on, its body at kDone.
  HttpRequest& request();

  // What the client wants: HTTP/1.1 without "close", HTTP/1.0 with "keep-alive".
  bool keep_alive() const;

  // It waits for "100 Continue" before it sends the body.
  bool expects_continue() const;

  // Bytes of body held so far.
  std::size_t body_bytes() const;

 private:
  class Message;

  void FeedHead();
  std::size_t FeedBody(std::string_view bytes);
  void CheckHead();
  void CheckHost();
  void CheckFrame();
  void CheckExpectation();
  void Refuse(HttpFault fault);

  const HttpLimits limits_;
  HeadScanner scanner_;
  std::unique_ptr<Message> message_;
  State state_ = State::kHead;
  std::optional<HttpFault> fault_;
  std::optional<std::string> target_authority_;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
};

}  // namespace hearth
