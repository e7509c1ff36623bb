#include "server/http/request_head.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/http/http_message.h"

namespace hearth {
namespace {

constexpr auto kMethods =
    std::to_array<std::string_view>({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"});

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// HTTP/DIGIT.DIGIT
bool IsVersion(std::string_view text) {
  return text.size() == 8 && text.starts_with("HTTP/") && IsDigit(text[5]) && text[6] == '.' &&
         IsDigit(text[7]);
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::size_t HeadScanner::Feed(std::string_view bytes) {
  std::size_t used = 0;
  while (used < bytes.size() && !done_ && !fault_) {
    Take(bytes[used]);
    ++used;
  }
  return used;
}

void HeadScanner::Take(char c) {
  const bool after_return = !head_.empty() && head_.back() == '\r';
  if ((c == '\n') != after_return) {
    Refuse(400, "the lines of the head must end in CR LF");
    return;
  }
  if (IsControl(c) && c != '\r' && c != '\n' && c != '\t') {
    Refuse(400, "the head holds a control character");
    return;
  }
  head_.push_back(c);
  const std::size_t line_bytes = head_.size() - line_start_;
  if (lines_ == 0 && line_bytes > limits_.max_request_line_bytes) {
    Refuse(
        414,
        "the request line is longer than " + std::to_string(limits_.max_request_line_bytes) +
            " bytes"
    );
  } else if (head_.size() > limits_.max_head_bytes) {
    Refuse(431, "the head is longer than " + std::to_string(limits_.max_head_bytes) + " bytes");
  } else if (c == '\n') {
    EndLine(std::string_view(head_).substr(line_start_, line_bytes - 2));
  }
}

void HeadScanner::EndLine(std::string_view line) {
  if (line.empty() && lines_ == 0) {
    if (std::exchange(skipped_empty_line_, true)) {
      Refuse(400, "the request begins with empty lines");
      return;
    }
    head_.clear();
    return;
  }
  if (line.empty()) {
    done_ = true;
    return;
  }
  if (lines_ == 0) {
    CheckRequestLine(line);
  } else {
    CheckHeaderLine(line);
  }
  ++lines_;
  line_start_ = head_.size();
}

void HeadScanner::CheckRequestLine(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
  if (second == line.npos || line.find(' ', second + 1) != line.npos ||
      line.find('\t') != line.npos) {
    Refuse(
        400, "the request line must be a method, a target and a version, one space between them"
    );
    return;
  }
  const std::string_view method = line.substr(0, first);
  if (!IsHttpToken(method)) {
    Refuse(400, "the method is no token");
    return;
  }
  if (second == first + 1) {
    Refuse(400, "the request line has no target");
    return;
  }
  const std::string_view version = line.substr(second + 1);
  if (!IsVersion(version)) {
    Refuse(400, "the request line does not end in an HTTP version");
    return;
  }
  if (version != "HTTP/1.0" && version != "HTTP/1.1") {
    Refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    return;
  }
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    Refuse(
        501, "the method is not implemented; GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS are"
    );
  }
}

void HeadScanner::CheckHeaderLine(std::string_view line) {
  if (line.front() == ' ' || line.front() == '\t') {
    Refuse(400, "a header line begins with white space (folding is not accepted)");
    return;
  }
  if (lines_ > limits_.max_headers) {
    Refuse(431, "there are more than " + std::to_string(limits_.max_headers) + " headers");
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == line.npos || !IsHttpToken(line.substr(0, colon))) {
    Refuse(400, "a header line must be a name, a colon right after it, and a value");
  }
}

void HeadScanner::Refuse(int status, std::string message) {
  fault_ = HttpFault{status, std::move(message)};
}

}  // namespace hearth
