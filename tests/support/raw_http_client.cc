#include "support/raw_http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>

namespace hearth {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) {
    return lower(x) == lower(y);
  });
}

}  // namespace

std::string RawHttpResponse::Header(std::string_view name) const {
  for (const auto& [header, value] : headers) {
    if (SameName(header, name)) {
      return value;
    }
  }
  return "";
}

RawHttpClient::RawHttpClient(std::uint16_t port, std::chrono::milliseconds patience)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval time{patience.count() / 1000, patience.count() % 1000 * 1000};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const generic = static_cast<const sockaddr*>(static_cast<const void*>(&address));
  if (::connect(socket_, generic, sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error("cannot connect to port " + std::to_string(port));
  }
}

RawHttpClient::~RawHttpClient() {
  Close();
}

bool RawHttpClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawHttpClient::CloseWriting() {
  ::shutdown(socket_, SHUT_WR);
}

void RawHttpClient::Reset() {
  const linger now{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  Close();
}

void RawHttpClient::Close() {
  if (socket_ >= 0) {
    ::close(std::exchange(socket_, -1));
  }
}

void RawHttpClient::ShrinkReceiveBuffer() {
  const int bytes = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

bool RawHttpClient::Fill() {
  if (ended_ || socket_ < 0) {
    return false;
  }
  char bytes[16 * 1024];
  const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
  if (got > 0) {
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }
  timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  reset_ = got < 0 && !timed_out_;
  ended_ = !timed_out_;
  return false;
}

std::optional<std::string> RawHttpClient::TakeLine() {
  std::size_t end;
  while ((end = buffer_.find("\r\n")) == buffer_.npos) {
    if (!Fill()) {
      return std::nullopt;
    }
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

bool RawHttpClient::TakeBytes(std::size_t count, std::string& into) {
  while (buffer_.size() < count) {
    if (!Fill()) {
      into += std::exchange(buffer_, "");
      return false;
    }
  }
  into.append(buffer_, 0, count);
  buffer_.erase(0, count);
  return true;
}

std::optional<RawHttpResponse> RawHttpClient::ReadResponse(bool to_head, bool interim) {
  RawHttpResponse response;
  auto line = TakeLine();
  if (!line) {
    return std::nullopt;
  }
  if (line->size() < 13 || !line->starts_with("HTTP/1.1 ")) {
    throw std::runtime_error("no status line: " + *line);
  }
  response.status = std::atoi(line->substr(9, 3).c_str());
  while ((line = TakeLine()) && !line->empty()) {
    const std::size_t colon = line->find(": ");
    if (colon == line->npos) {
      throw std::runtime_error("no header: " + *line);
    }
    response.headers.emplace_back(line->substr(0, colon), line->substr(colon + 2));
  }
  if (!line) {
    return response;
  }
  if (response.status / 100 == 1) {
    response.complete = true;
    return interim ? response : ReadResponse(to_head);
  }
  response.chunked = response.Header("transfer-encoding") == "chunked";
  const std::string length = response.Header("content-length");
  if (response.chunked && !length.empty()) {
    throw std::runtime_error("two frames");
  }
  if (to_head || response.status == 204 || response.status == 304) {
    response.complete = true;
  } else if (response.chunked) {
    while ((line = TakeLine())) {
      const std::size_t size = std::strtoul(line->c_str(), nullptr, 16);
      if (!TakeBytes(size, response.body) || TakeLine() != "") {
        break;
      }
      if (size == 0) {
        response.complete = true;
        break;
      }
    }
  } else if (!length.empty()) {
    response.complete = TakeBytes(std::strtoul(length.c_str(), nullptr, 10), response.body);
  } else {
    while (Fill()) {
    }
    response.body = std::exchange(buffer_, "");
    response.complete = ended_ && !reset_;
  }
  return response;
}

std::string RawHttpClient::ReadSome() {
  if (buffer_.empty()) {
    Fill();
  }
  return std::exchange(buffer_, "");
}

bool RawHttpClient::ServerCloses() {
  return buffer_.empty() && !Fill() && ended_;
}

}  // namespace hearth
