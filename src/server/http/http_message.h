// The values of HTTP that a service reads and writes: headers, request, response. Bytes and names, no sockets.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// ASCII letters are the same in both cases; other bytes only equal themselves.
bool EqualsIgnoringCase(std::string_view a, std::string_view b);

// A token of RFC 9110: what methods and header names are made of; not empty.
bool IsHttpToken(std::string_view text);

struct HttpHeader {
  std::string name;
  std::string value;
};

// Headers in their order; names are looked up in any case.
class HttpHeaders {
 public:
  HttpHeaders() = default;

  HttpHeaders(std::initializer_list<HttpHeader> headers) : headers_(headers) {}

  void Add(std::string name, std::string value);

  // nullptr when there is none.
  const std::string* First(std::string_view name) const;
  std::vector<std::string_view> All(std::string_view name) const;

  bool Has(std::string_view name) const { return First(name) != nullptr; }

  auto begin() const { return headers_.begin(); }

  auto end() const { return headers_.end(); }

  std::size_t size() const { return headers_.size(); }

  bool empty() const { return headers_.empty(); }

 private:
  std::vector<HttpHeader> headers_;
};

struct HttpParameter {
  std::string name;
  std::string value;
};

// A request as the service gets it.
struct HttpRequest {
  std::string method;  // one of GET HEAD POST PUT PATCH DELETE OPTIONS
  // Percent escapes decoded once ("%2F" is a '/'); valid UTF-8 without control characters and without "." and ".." segments.
  // Begins with '/', or is "*" for OPTIONS *.
  std::string path;
  std::string raw_query;  // what follows the '?', as it was sent
  std::vector<HttpParameter>
      query;                   // decoded, '+' is a space; valid UTF-8 without control characters
  HttpHeaders headers;         // of the head only: trailers are dropped
  std::string body;            // empty in Admit; whole in Handle
  int minor_version = 1;       // HTTP/1.0 or HTTP/1.1
  std::string remote_address;  // "127.0.0.1", "::1"
  std::uint16_t remote_port = 0;
  // The client's X-Request-Id if it is 1 to 128 of letters, digits and "-_.:", else one of ours. In every answer.
  std::string id;

  // The first of that name; nullptr when there is none.
  const std::string* Parameter(std::string_view name) const;
};

// Date, Content-Length, Transfer-Encoding, Connection and X-Request-Id are the server's to set, and not allowed here.
struct HttpResponse {
  int status = 200;
  HttpHeaders headers;
  std::string body;
};

// A request is refused: the server gives it the body that the service shapes errors with, none when there is no message.
struct HttpRefusal {
  int status = 400;
  std::string message;
  HttpHeaders headers;
};

struct HttpErrorBody {
  std::string content_type;
  std::string body;
};

// "Not Found" for 404; "Status" for a number that nobody has defined.
std::string_view HttpReason(int status);

}  // namespace hearth
