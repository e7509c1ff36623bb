// A small HTTP/1.1 client: one connection, one request at a time, its answer read as it comes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace hearth::bench {

struct ServerAddress {
  std::string host;
  std::string port;
};

// "http://127.0.0.1:8080", with or without what follows the port.
// Errors: std::invalid_argument.
ServerAddress ParseUrl(std::string_view url);

enum class Goodbye {
  kClose,  // as a program that ends its connection
  kReset,  // as one that was killed with data unread
};

// Threads: one executor. Errors: boost::system::system_error.
class HttpClient {
 public:
  explicit HttpClient(ServerAddress address) : address_(std::move(address)) {}

  // Connects if it must and sends the request; with a body it is POST. `most` cuts the bytes that are sent.
  boost::asio::awaitable<void> Send(
      std::string target, std::optional<std::string> body, std::size_t most = std::string::npos
  );

  // Waits for the head of the answer; returns its status.
  boost::asio::awaitable<int> ReadHead();

  // The next bytes of the body; empty at its end. The connection may be used again after that if the server lets it.
  boost::asio::awaitable<std::string> ReadSome();

  // Whole exchange: status and body.
  struct Answer {
    int status;
    std::string body;
  };

  boost::asio::awaitable<Answer> Ask(std::string target, std::optional<std::string> body = {});

  void Leave(Goodbye goodbye);

 private:
  ServerAddress address_;
  std::optional<boost::asio::ip::tcp::socket> socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::response_parser<boost::beast::http::buffer_body>> parser_;
};

}  // namespace hearth::bench
