// The head of an answer as bytes.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

#include "server/http/http_message.h"

namespace hearth {

// How an answer's body ends.
struct ResponseFrame {
  std::optional<std::uint64_t> length;  // Content-Length
  bool chunked = false;                 // Transfer-Encoding: chunked
  // Neither: there is no body (204, 304), or the connection's end is its end.
};

// The status line, `headers`, then what the server itself says: Date, X-Request-Id unless empty, the frame, Connection.
// Errors: kInternal for a status outside 200 to 599, and for a header that is no token, holds a control character, or is the
//         server's to set: a value that came from a client cannot begin a line of its own.
std::string FormatResponseHead(
    int status,
    const HttpHeaders& headers,
    const ResponseFrame& frame,
    const std::string& request_id,
    bool keep_alive,
    std::time_t now
);

// "Sun, 06 Nov 1994 08:49:37 GMT", in any locale.
std::string FormatHttpDate(std::time_t time);

}  // namespace hearth
