#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

#include "server/http/buffered_socket_internal.h"

namespace hearth {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kLandingBytes = 16 * 1024;
constexpr std::size_t kPieceBytes = 64 * 1024;

constexpr auto kAwaitTuple = asio::as_tuple(asio::use_awaitable);

}  // namespace

BufferedSocket::BufferedSocket(tcp::socket socket, const HttpLimits& limits)
    : socket_(std::move(socket)),
      limits_(limits),
      wake_(socket_.get_executor()),
      write_timer_(socket_.get_executor()),
      landing_(kLandingBytes) {
  error_code ignored;  // a socket that is gone already says so at the first read
  socket_.set_option(tcp::no_delay(true), ignored);
}

void BufferedSocket::Consume(std::size_t bytes) {
  consumed_ += bytes;
  if (consumed_ == inbound_.size()) {
    inbound_.clear();
    consumed_ = 0;
  } else if (consumed_ > inbound_.size() / 2) {
    inbound_.erase(0, consumed_);
    consumed_ = 0;
  }
}

void BufferedSocket::Read() {
  if (reading_ || broken_) {
    return;
  }
  const std::size_t held = inbound().size();
  if (ended_ || held >= limits_.max_pipelined_bytes) {
    WatchForReset();
    return;
  }
  reading_ = true;
  const std::size_t room = std::min(landing_.size(), limits_.max_pipelined_bytes - held);
  socket_.async_read_some(
      asio::buffer(landing_.data(), room),
      [self = shared_from_this()](const error_code& ec, std::size_t count) {
        self->reading_ = false;
        self->inbound_.append(self->landing_.data(), count);
        if (ec == asio::error::eof) {
          self->ended_ = true;
        } else if (ec) {
          self->broken_ = true;
        }
        self->Changed();
      }
  );
}

void BufferedSocket::WatchForReset() {
  if (watching_) {
    return;
  }
  watching_ = true;
  socket_.async_wait(tcp::socket::wait_error, [self = shared_from_this()](const error_code& ec) {
    self->watching_ = false;
    // Urgent data wakes it too, and means nothing in HTTP.
    error_code state;
    if (!ec) {
      self->socket_.remote_endpoint(state);
    }
    if (ec || state) {
      self->broken_ = true;
      self->Changed();
    }
  });
}

void BufferedSocket::Changed() {
  if (on_change_) {
    on_change_();
  }
  Wake();
}

asio::awaitable<void> BufferedSocket::WaitForChange(
    std::chrono::steady_clock::time_point deadline
) {
  wake_.expires_at(deadline);
  auto waiting = wake_.async_wait(kAwaitTuple);
  co_await std::move(waiting);
}

asio::awaitable<bool> BufferedSocket::Write(std::string_view bytes) {
  while (!bytes.empty() && !broken_) {
    const std::string_view piece = bytes.substr(0, kPieceBytes);
    StartWriteTimer();
    auto writing =
        asio::async_write(socket_, asio::buffer(piece.data(), piece.size()), kAwaitTuple);
    const std::tuple<error_code, std::size_t> result = co_await std::move(writing);
    StopWriteTimer();
    if (std::get<0>(result)) {
      broken_ = true;
    }
    bytes.remove_prefix(piece.size());
  }
  co_return !broken_;
}

void BufferedSocket::StartWriteTimer() {
  write_timer_.expires_after(limits_.write_timeout);
  // The number tells a timer whose turn came just after its write had ended.
  write_timer_.async_wait([self = shared_from_this(),
                           number = ++write_number_](const error_code& ec) {
    if (!ec && number == self->write_number_) {
      self->stalled_ = true;
      self->Close();
    }
  });
}

void BufferedSocket::StopWriteTimer() {
  ++write_number_;
  write_timer_.cancel();
}

asio::awaitable<void> BufferedSocket::Linger() {
  error_code ec;
  socket_.shutdown(tcp::socket::shutdown_send, ec);
  const auto deadline = std::chrono::steady_clock::now() + limits_.linger_timeout;
  while (!ec && !ended_ && !broken_ && std::chrono::steady_clock::now() < deadline) {
    Consume(inbound().size());
    Read();
    co_await WaitForChange(deadline);
  }
}

void BufferedSocket::Close() {
  broken_ = true;
  error_code ignored;  // what cannot be closed is closed
  socket_.close(ignored);
  Changed();
}

}  // namespace hearth
