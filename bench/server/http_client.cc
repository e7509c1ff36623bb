#include "http_client.h"

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <limits>
#include <stdexcept>
#include <utility>

namespace hearth::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

}  // namespace

ServerAddress ParseUrl(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : "";
  const std::string_view authority = rest.substr(0, rest.find('/'));
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == authority.size()) {
    throw std::invalid_argument("got URL '" + std::string(url) + "', wanted http://HOST:PORT");
  }
  std::string host(authority.substr(0, colon));
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {std::move(host), std::string(authority.substr(colon + 1))};
}

asio::awaitable<void> HttpClient::Send(
    std::string target, std::optional<std::string> body, std::size_t most
) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  if (!socket_) {
    tcp::resolver resolver(executor);
    const tcp::resolver::results_type found =
        co_await resolver.async_resolve(address_.host, address_.port, asio::use_awaitable);
    socket_.emplace(executor);
    co_await asio::async_connect(*socket_, found, asio::use_awaitable);
    socket_->set_option(tcp::no_delay(true));
    buffer_.clear();
  }
  parser_.reset();
  std::string bytes = (body ? "POST " : "GET ") + target + " HTTP/1.1\r\nHost: localhost\r\n";
  if (body) {
    bytes += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body->size()) +
             "\r\n";
  }
  bytes += "\r\n" + body.value_or("");
  bytes.resize(std::min(bytes.size(), most));
  co_await asio::async_write(*socket_, asio::buffer(bytes), asio::use_awaitable);
}

asio::awaitable<int> HttpClient::ReadHead() {
  parser_.emplace();
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
  co_await http::async_read_header(*socket_, buffer_, *parser_, asio::use_awaitable);
  co_return parser_->get().result_int();
}

asio::awaitable<std::string> HttpClient::ReadSome() {
  while (!parser_->is_done()) {
    std::array<char, 16 * 1024> piece;
    parser_->get().body().data = piece.data();
    parser_->get().body().size = piece.size();
    error_code ec;
    co_await http::async_read_some(
        *socket_, buffer_, *parser_, asio::redirect_error(asio::use_awaitable, ec)
    );
    if (ec && ec != http::error::need_buffer) {
      throw boost::system::system_error(ec);
    }
    const std::size_t got = piece.size() - parser_->get().body().size;
    if (got > 0) {
      co_return std::string(piece.data(), got);
    }
  }
  if (!parser_->keep_alive()) {
    Leave(Goodbye::kClose);
  }
  co_return "";
}

asio::awaitable<HttpClient::Answer> HttpClient::Ask(
    std::string target, std::optional<std::string> body
) {
  asio::awaitable<void> sending = Send(std::move(target), std::move(body));
  co_await std::move(sending);
  asio::awaitable<int> heading = ReadHead();
  Answer answer;
  answer.status = co_await std::move(heading);
  while (true) {
    asio::awaitable<std::string> reading = ReadSome();
    const std::string piece = co_await std::move(reading);
    if (piece.empty()) {
      break;
    }
    answer.body += piece;
  }
  co_return answer;
}

void HttpClient::Leave(Goodbye goodbye) {
  if (!socket_) {
    return;
  }
  error_code ignored;
  if (goodbye == Goodbye::kReset) {
    socket_->set_option(asio::socket_base::linger(true, 0), ignored);
  }
  socket_->close(ignored);
  socket_.reset();
}

}  // namespace hearth::bench
