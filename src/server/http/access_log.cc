#include "server/http/access_log.h"

#include <array>
#include <cstdio>
#include <exception>

#include "contracts/printable.h"
#include "platform/log.h"

namespace hearth {
namespace {

constexpr std::size_t kMostPathBytes = 200;

std::string OrDash(std::string text) {
  return text.empty() ? "-" : text;
}

}  // namespace

std::string AccessLogLine(const HttpRecord& record) {
  std::array<char, 96> numbers;
  std::snprintf(
      numbers.data(),
      numbers.size(),
      " %d %llu bytes %.3f ms ",
      record.status,
      static_cast<unsigned long long>(record.body_bytes),
      static_cast<double>(record.duration.count()) / 1000.0
  );
  return OrDash(record.remote_address) + " " + OrDash(record.method) + " " +
         OrDash(Printable(record.path, kMostPathBytes)) + numbers.data() + OrDash(record.id) +
         (record.complete ? "" : " cut off");
}

void LogAccess(const HttpRecord& record) noexcept {
  if (!LogEnabled(LogLevel::kInfo)) {
    return;
  }
  try {
    Log(LogLevel::kInfo, AccessLogLine(record));
  } catch (const std::exception&) {
    // No memory for a line of the log is no reason to end.
  }
}

}  // namespace hearth
