// The target of a request: what path and query it names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"
#include "server/http/request_head.h"

namespace hearth {

struct RequestTarget {
  std::string path;
  std::string raw_query;
  std::vector<HttpParameter> query;
  std::optional<std::string> authority;  // of the absolute form: it must be what Host says
};

// Reads "/path?query", "*" (OPTIONS only) or "http://authority/path?query" into `target`.
// Escapes are decoded once, then the path must be valid UTF-8 without control characters, backslashes and "." or ".."
// segments, so that nobody behind can read another path in it. A fragment, a byte outside visible ASCII and an escape
// that is none are faults.
std::optional<HttpFault> ParseRequestTarget(
    std::string_view method, std::string_view text, RequestTarget& target
);

// Whether it is a name, an IPv4 address or a bracketed IPv6 address, with or without a port.
bool IsAuthority(std::string_view text);

}  // namespace hearth
