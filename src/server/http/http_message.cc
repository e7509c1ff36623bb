#include "server/http/http_message.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hearth {
namespace {

constexpr char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool IsTokenByte(char c) {
  const bool alphanumeric =
      (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return alphanumeric || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

constexpr auto kReasons = std::to_array<std::pair<int, std::string_view>>({
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
});

}  // namespace

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return Lower(x) == Lower(y);
  });
}

bool IsHttpToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenByte);
}

void HttpHeaders::Add(std::string name, std::string value) {
  headers_.push_back({std::move(name), std::move(value)});
}

const std::string* HttpHeaders::First(std::string_view name) const {
  const auto found = std::find_if(headers_.begin(), headers_.end(), [&](const HttpHeader& header) {
    return EqualsIgnoringCase(header.name, name);
  });
  return found == headers_.end() ? nullptr : &found->value;
}

std::vector<std::string_view> HttpHeaders::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const HttpHeader& header : headers_) {
    if (EqualsIgnoringCase(header.name, name)) {
      values.emplace_back(header.value);
    }
  }
  return values;
}

const std::string* HttpRequest::Parameter(std::string_view name) const {
  const auto found = std::find_if(query.begin(), query.end(), [&](const HttpParameter& parameter) {
    return parameter.name == name;
  });
  return found == query.end() ? nullptr : &found->value;
}

std::string_view HttpReason(int status) {
  const auto* const found = std::find_if(kReasons.begin(), kReasons.end(), [&](const auto& reason) {
    return reason.first == status;
  });
  return found == kReasons.end() ? "Status" : found->second;
}

}  // namespace hearth
