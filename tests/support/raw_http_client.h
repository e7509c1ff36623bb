// A blocking HTTP client for tests: sends the bytes that it is given, so that it can be wrong in every way, and reads answers
// strictly.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

struct RawHttpResponse {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool chunked = false;
  bool complete = false;  // the body ended as its frame says

  // "" when there is none; names in any case.
  std::string Header(std::string_view name) const;
};

// A connection to 127.0.0.1. Reads give up after `patience`.
// Errors: std::runtime_error when it cannot connect, and when what comes is no HTTP.
class RawHttpClient {
 public:
  explicit RawHttpClient(
      std::uint16_t port, std::chrono::milliseconds patience = std::chrono::milliseconds(10'000)
  );
  ~RawHttpClient();
  RawHttpClient(const RawHttpClient&) = delete;
  RawHttpClient& operator=(const RawHttpClient&) = delete;

  // False when the server takes no more.
  bool Send(std::string_view bytes);

  // Sends the end, and reads on.
  void CloseWriting();

  // Ends with a reset.
  void Reset();

  void Close();

  // As small as the system allows, so that the server meets a client that does not read.
  void ShrinkReceiveBuffer();

  // The next answer; 1xx ones are skipped unless `interim`. nullopt when the connection ended (or was reset) before one began, or patience did.
  std::optional<RawHttpResponse> ReadResponse(bool to_head = false, bool interim = false);

  // Some bytes as they come; empty at the end.
  std::string ReadSome();

  // True when the server ends the connection (or resets it) in time, with nothing more to read.
  bool ServerCloses();

  bool reset() const { return reset_; }

  bool timed_out() const { return timed_out_; }

 private:
  bool Fill();
  std::optional<std::string> TakeLine();
  bool TakeBytes(std::size_t count, std::string& into);

  int socket_ = -1;
  std::string buffer_;
  bool ended_ = false;
  bool reset_ = false;
  bool timed_out_ = false;
};

}  // namespace hearth
