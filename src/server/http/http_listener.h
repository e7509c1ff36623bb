// The port: taken first, served later.
#pragma once

#include <cstdint>
#include <string>

namespace hearth {

// A bound, listening socket. Until a server serves it, clients that connect wait in the system's queue.
// Ownership: owns the socket until a server takes it.
// Errors:    kInvalidArgument when the address is neither "localhost" nor an IP address; kIo in one line when the system refuses, which says so
//            when the port is in use.
class HttpListener {
 public:
  // Port 0 lets the system pick one.
  HttpListener(const std::string& address, std::uint16_t port);
  ~HttpListener();
  HttpListener(HttpListener&& other) noexcept;
  HttpListener& operator=(HttpListener&&) = delete;

  // The address as it was bound: "127.0.0.1", "::1".
  const std::string& address() const { return address_; }

  std::uint16_t port() const { return port_; }

  // "http://127.0.0.1:8080", "http://[::1]:8080".
  std::string url() const;

  bool loopback() const { return loopback_; }

  // For HttpServer, which releases it once it has taken it.
  int socket() const { return socket_; }

  int Release();

 private:
  std::string address_;
  std::uint16_t port_ = 0;
  bool loopback_ = false;
  int socket_ = -1;
};

}  // namespace hearth
