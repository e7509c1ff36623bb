// Requests as bytes, right and wrong in many ways, each with the answers that are right.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hearth {

// The server of these cases has these limits.
inline constexpr std::size_t kRawRequestLineBytes = 1000;
inline constexpr std::size_t kRawHeadBytes = 4000;
inline constexpr std::size_t kRawHeaders = 20;
inline constexpr std::size_t kRawBodyBytes = 2000;

struct RawCase {
  std::string name;
  std::string bytes;
  // Of the first answer; 0 stands for a connection that is closed without one.
  std::vector<int> statuses;
  // The body of the answer that a 200 must have: what the service took for the request's body.
  std::string body;
};

struct RawKind {
  std::string name;
  std::vector<RawCase> cases;
};

// Every refused request is followed by kSmuggled, which must never be taken for a request of its own.
inline constexpr const char* kSmuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

std::vector<RawKind> RawKinds();

}  // namespace hearth
