// Every limit that a connection meets, in one place, with its default.
#pragma once

#include <chrono>
#include <cstddef>

namespace hearth {

// Units: bytes, counts, milliseconds. What happens at a limit stands beside it; requests are answered in the shape that the
//        owner gives errors.
// Errors: Validate: kInvalidArgument naming a field that is not positive, or two that contradict each other.
struct HttpLimits {
  std::size_t max_request_line_bytes = 8 * 1024;  // 414
  std::size_t max_head_bytes = 64 * 1024;         // request line and headers: 431
  std::size_t max_headers = 100;                  // 431
  std::size_t max_body_bytes = 32 * 1024 * 1024;  // 413, before the body is read
  // What may surround the data of chunks: one line with a chunk's size, all extensions of a body, all trailers. 400 or 431.
  std::size_t max_chunk_framing_bytes = 8 * 1024;
  // Bodies of all connections together, from their first byte until their request is answered. 503.
  std::size_t max_buffered_body_bytes = 256 * 1024 * 1024;
  // Read ahead of the request that is being answered (pipelining). Beyond it the client waits.
  std::size_t max_pipelined_bytes = 64 * 1024;

  std::chrono::milliseconds header_timeout{10'000};      // first byte to empty line: 408
  std::chrono::milliseconds body_timeout{120'000};       // the whole body: 408
  std::chrono::milliseconds keep_alive_timeout{75'000};  // idle between requests: closed
  std::chrono::milliseconds write_timeout{30'000};  // for each 64 KiB that a client takes: closed
  // After a refusal the rest of what a client still sends is read and dropped for this long, since closing at once could
  // take the answer away from it.
  std::chrono::milliseconds linger_timeout{3'000};

  std::size_t max_connections = 1024;  // 503 with Retry-After
  std::size_t max_refusals = 64;  // connections that are told so at a time; more are just closed
  std::size_t max_requests_per_connection = 100'000;  // the last answer says "Connection: close"

  void Validate() const;
};

}  // namespace hearth
