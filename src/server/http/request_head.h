// The lines of a request's head, read strictly, byte by byte.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/http_limits.h"

namespace hearth {

// Why a request is refused by HTTP itself. The message holds no byte of the request.
struct HttpFault {
  int status = 400;
  std::string message;
};

// Collects a head and refuses, at the first byte that shows it, whatever two programs could read in two ways: lines that do
// not end in CR LF, a lone CR or LF, NUL and other control characters, folded lines, a space before a colon, a header without
// name or colon, more or less than three words in the request line, versions other than HTTP/1.0 and HTTP/1.1, methods that
// the server does not implement; and what passes a limit. One empty line before the request is tolerated, as RFC 9112 asks.
// The answer does not depend on how the bytes are cut.
// Cost: constant work a byte, memory up to max_head_bytes.
class HeadScanner {
 public:
  explicit HeadScanner(const HttpLimits& limits) : limits_(limits) {}

  // Takes bytes up to the end of the head or a fault; returns how many.
  std::size_t Feed(std::string_view bytes);

  bool done() const { return done_; }

  // Whether the request has begun.
  bool started() const { return !head_.empty(); }

  const std::optional<HttpFault>& fault() const { return fault_; }

  // From the request line to the empty line.
  const std::string& head() const { return head_; }

 private:
  void Take(char c);
  void EndLine(std::string_view line);
  void CheckRequestLine(std::string_view line);
  void CheckHeaderLine(std::string_view line);
  void Refuse(int status, std::string message);

  const HttpLimits& limits_;
  std::string head_;
  std::size_t line_start_ = 0;
  std::size_t lines_ = 0;
  bool skipped_empty_line_ = false;
  bool done_ = false;
  std::optional<HttpFault> fault_;
};

}  // namespace hearth
