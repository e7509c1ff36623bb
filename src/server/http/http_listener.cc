#include "server/http/http_listener.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

std::string HostAndPort(const std::string& address, std::uint16_t port) {
  const bool bracketed = address.find(':') != address.npos;
  return (bracketed ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

asio::ip::address ParseAddress(const std::string& text) {
  std::string plain = text == "localhost" ? "127.0.0.1" : text;
  if (plain.size() > 2 && plain.front() == '[' && plain.back() == ']') {
    plain = plain.substr(1, plain.size() - 2);
  }
  boost::system::error_code ec;
  const asio::ip::address address = asio::ip::make_address(plain, ec);
  if (ec) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "address to listen on: got " + Printable(text) + ", wanted an IP address or localhost"
    );
  }
  return address;
}

void Require(const boost::system::error_code& ec, const tcp::endpoint& endpoint) {
  if (!ec) {
    return;
  }
  const std::string where = HostAndPort(endpoint.address().to_string(), endpoint.port());
  if (ec == asio::error::address_in_use) {
    throw Error(
        ErrorCode::kIo,
        where + ": the port is in use, wanted a free one (0 lets the system pick one)"
    );
  }
  throw Error(ErrorCode::kIo, where + ": cannot listen: " + ec.message());
}

}  // namespace

HttpListener::HttpListener(const std::string& address, std::uint16_t port) {
  const tcp::endpoint wanted(ParseAddress(address), port);
  asio::io_context context;
  tcp::acceptor acceptor(context);
  boost::system::error_code ec;
  acceptor.open(wanted.protocol(), ec);
  Require(ec, wanted);
  // A server that ended a moment ago leaves connections behind, which must not keep the port.
  acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  Require(ec, wanted);
  acceptor.bind(wanted, ec);
  Require(ec, wanted);
  acceptor.listen(asio::socket_base::max_listen_connections, ec);
  Require(ec, wanted);
  const tcp::endpoint bound = acceptor.local_endpoint(ec);
  Require(ec, wanted);
  address_ = bound.address().to_string();
  port_ = bound.port();
  loopback_ = bound.address().is_loopback();
  socket_ = acceptor.release(ec);
  Require(ec, wanted);
}

HttpListener::HttpListener(HttpListener&& other) noexcept
    : address_(std::move(other.address_)),
      port_(other.port_),
      loopback_(other.loopback_),
      socket_(other.Release()) {
}

HttpListener::~HttpListener() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

std::string HttpListener::url() const {
  return "http://" + HostAndPort(address_, port_);
}

int HttpListener::Release() {
  return std::exchange(socket_, -1);
}

}  // namespace hearth
