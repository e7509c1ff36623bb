#include "server/http/http_limits.h"

#include <string>
#include <string_view>

#include "hearth/error.h"

namespace hearth {
namespace {

void RequirePositive(long long value, std::string_view field) {
  if (value <= 0) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "HTTP limits: got " + std::string(field) + " " + std::to_string(value) +
            ", wanted more than 0"
    );
  }
}

void RequirePositive(std::size_t value, std::string_view field) {
  RequirePositive(static_cast<long long>(value != 0), field);
}

void RequirePositive(std::chrono::milliseconds value, std::string_view field) {
  RequirePositive(static_cast<long long>(value.count()), field);
}

}  // namespace

void HttpLimits::Validate() const {
  RequirePositive(max_request_line_bytes, "max_request_line_bytes");
  RequirePositive(max_head_bytes, "max_head_bytes");
  RequirePositive(max_headers, "max_headers");
  RequirePositive(max_body_bytes, "max_body_bytes");
  RequirePositive(max_chunk_framing_bytes, "max_chunk_framing_bytes");
  RequirePositive(max_buffered_body_bytes, "max_buffered_body_bytes");
  RequirePositive(max_pipelined_bytes, "max_pipelined_bytes");
  RequirePositive(header_timeout, "header_timeout");
  RequirePositive(body_timeout, "body_timeout");
  RequirePositive(keep_alive_timeout, "keep_alive_timeout");
  RequirePositive(write_timeout, "write_timeout");
  RequirePositive(linger_timeout, "linger_timeout");
  RequirePositive(max_connections, "max_connections");
  RequirePositive(max_refusals, "max_refusals");
  RequirePositive(max_requests_per_connection, "max_requests_per_connection");
  if (max_pipelined_bytes <= max_chunk_framing_bytes) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "HTTP limits: got max_pipelined_bytes " + std::to_string(max_pipelined_bytes) +
            ", wanted more than max_chunk_framing_bytes " + std::to_string(max_chunk_framing_bytes)
    );
  }
  if (max_buffered_body_bytes < max_body_bytes) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "HTTP limits: got max_buffered_body_bytes " + std::to_string(max_buffered_body_bytes) +
            ", wanted at least max_body_bytes " + std::to_string(max_body_bytes)
    );
  }
}

}  // namespace hearth
