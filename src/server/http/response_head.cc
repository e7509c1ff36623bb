#include "server/http/response_head.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

constexpr auto kOwnHeaders = std::to_array<std::string_view>(
    {"Date", "Content-Length", "Transfer-Encoding", "Connection", "X-Request-Id"}
);

bool IsValueByte(char c) {
  return (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) || c == '\t';
}

void CheckHeader(const HttpHeader& header) {
  const bool own = std::any_of(kOwnHeaders.begin(), kOwnHeaders.end(), [&](std::string_view name) {
    return EqualsIgnoringCase(name, header.name);
  });
  if (own || !IsHttpToken(header.name) ||
      !std::all_of(header.value.begin(), header.value.end(), IsValueByte)) {
    throw Error(
        ErrorCode::kInternal,
        "HTTP answer: got the header " + Printable(header.name) +
            ", wanted a token and a value of one line, and none that is the server's to set"
    );
  }
}

void AppendLine(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

std::string Padded(unsigned value, std::size_t digits) {
  std::string text = std::to_string(value);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

}  // namespace

std::string FormatHttpDate(std::time_t time) {
  constexpr std::array<const char*, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths = {
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
  };
  const auto instant = std::chrono::system_clock::from_time_t(time);
  const auto midnight = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day day(midnight);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(instant - midnight));
  return std::string(kDays[std::chrono::weekday(midnight).c_encoding()]) + ", " +
         Padded(static_cast<unsigned>(day.day()), 2) + " " +
         kMonths[static_cast<unsigned>(day.month()) - 1] + " " +
         Padded(static_cast<unsigned>(static_cast<int>(day.year())), 4) + " " +
         Padded(static_cast<unsigned>(clock.hours().count()), 2) + ":" +
         Padded(static_cast<unsigned>(clock.minutes().count()), 2) + ":" +
         Padded(static_cast<unsigned>(clock.seconds().count()), 2) + " GMT";
}

std::string FormatResponseHead(
    int status,
    const HttpHeaders& headers,
    const ResponseFrame& frame,
    const std::string& request_id,
    bool keep_alive,
    std::time_t now
) {
  if (status < 200 || status > 599) {
    throw Error(
        ErrorCode::kInternal,
        "HTTP answer: got the status " + std::to_string(status) + ", wanted 200 to 599"
    );
  }
  std::string head = "HTTP/1.1 " + std::to_string(status) + " ";
  head.append(HttpReason(status)).append("\r\n");
  for (const HttpHeader& header : headers) {
    CheckHeader(header);
    AppendLine(head, header.name, header.value);
  }
  AppendLine(head, "Date", FormatHttpDate(now));
  if (!request_id.empty()) {
    AppendLine(head, "X-Request-Id", request_id);
  }
  if (frame.chunked) {
    AppendLine(head, "Transfer-Encoding", "chunked");
  } else if (frame.length) {
    AppendLine(head, "Content-Length", std::to_string(*frame.length));
  }
  AppendLine(head, "Connection", keep_alive ? "keep-alive" : "close");
  return head + "\r\n";
}

}  // namespace hearth
