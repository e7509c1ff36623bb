#include "server/http/access_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "platform/log.h"

namespace hearth {
namespace {

HttpRecord Example() {
  HttpRecord record;
  record.method = "POST";
  record.path = "/v1/completions";
  record.id = "r-1";
  record.remote_address = "::1";
  record.status = 200;
  record.body_bytes = 1234;
  record.duration = std::chrono::microseconds(56789);
  record.complete = true;
  return record;
}

TEST(AccessLog, SaysWhoWhatAndHowItEnded) {
  HttpRecord record = Example();
  EXPECT_EQ(AccessLogLine(record), "::1 POST /v1/completions 200 1234 bytes 56.789 ms r-1");
  record.complete = false;
  EXPECT_EQ(AccessLogLine(record), "::1 POST /v1/completions 200 1234 bytes 56.789 ms r-1 cut off");
  EXPECT_EQ(AccessLogLine(HttpRecord{}), "- - - 0 0 bytes 0.000 ms - cut off");
}

TEST(AccessLog, CutsLongPathsAndShowsOddOnes) {
  HttpRecord record = Example();
  record.path = "/" + std::string(5000, 'a');
  EXPECT_LT(AccessLogLine(record).size(), 300u);
  record.path = "/a\xff\nb";
  EXPECT_NE(AccessLogLine(record).find("/a\\xff\\x0ab"), std::string::npos);
}

TEST(AccessLog, GoesToTheLog) {
  std::vector<std::string> lines;
  SetLogSink([&](LogLevel, std::string_view line) { lines.emplace_back(line); }, LogLevel::kInfo);
  LogAccess(Example());
  SetLogSink(nullptr, LogLevel::kError);
  LogAccess(Example());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines.front(), AccessLogLine(Example()));
}

}  // namespace
}  // namespace hearth
