// A client's socket: reads ahead up to a bound, writes in pieces that must get on, and tells when the client goes.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_limits.h"

namespace hearth {

// Threads:   the socket's executor, which runs one handler at a time. One wait and one write at a time.
// Life:      its pending operations hold it; Close ends them, and after Forget nobody is called back.
// Errors:    none thrown but for memory; a broken connection is a state.
class BufferedSocket : public std::enable_shared_from_this<BufferedSocket> {
 public:
  BufferedSocket(boost::asio::ip::tcp::socket socket, const HttpLimits& limits);

  auto executor() { return socket_.get_executor(); }

  // Called whenever bytes came or the connection's state changed, on the executor, before whoever waits goes on.
  void OnChange(std::function<void()> callback) { on_change_ = std::move(callback); }

  void Forget() { on_change_ = nullptr; }

  std::string_view inbound() const { return std::string_view(inbound_).substr(consumed_); }

  void Consume(std::size_t bytes);

  // The client sends no more.
  bool ended() const { return ended_; }

  // Nothing can be sent or received.
  bool broken() const { return broken_; }

  // It broke because a write took too long.
  bool stalled() const { return stalled_; }

  // Reads on until the read-ahead is full; then, and after the client's end, only a reset is noticed.
  void Read();

  // Returns at a change, at a Wake, or at the deadline; perhaps for no reason.
  boost::asio::awaitable<void> WaitForChange(std::chrono::steady_clock::time_point deadline);

  void Wake() { wake_.cancel(); }

  // True when the system has taken all. `bytes` must stay until it returns. Closes the socket when a piece of 64 KiB takes
  // longer than the write timeout.
  boost::asio::awaitable<bool> Write(std::string_view bytes);

  // Sends the end, then reads and drops until the client ends or the linger timeout: closing while unread bytes are in the
  // system's buffer would be a reset, which can take back an answer that the client has not read.
  boost::asio::awaitable<void> Linger();

  void Close();

 private:
  void WatchForReset();
  void Changed();
  void StopWriteTimer();
  void StartWriteTimer();

  boost::asio::ip::tcp::socket socket_;
  const HttpLimits& limits_;
  boost::asio::steady_timer wake_;
  boost::asio::steady_timer write_timer_;
  std::function<void()> on_change_;
  std::vector<char> landing_;
  std::string inbound_;
  std::size_t consumed_ = 0;
  std::uint64_t write_number_ = 0;
  bool reading_ = false;
  bool watching_ = false;
  bool ended_ = false;
  bool broken_ = false;
  bool stalled_ = false;
};

}  // namespace hearth
