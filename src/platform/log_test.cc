#include "platform/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hearth {
namespace {

// What was logged while it lives; silence afterwards.
class Captured {
 public:
  explicit Captured(LogLevel most) {
    SetLogSink(
        [this](LogLevel level, std::string_view line) { lines.emplace_back(level, line); }, most
    );
  }

  ~Captured() { SetLogSink({}, LogLevel::kError); }

  std::vector<std::pair<LogLevel, std::string>> lines;
};

using Lines = std::vector<std::pair<LogLevel, std::string>>;

TEST(Log, IsSilentWithoutASink) {
  EXPECT_FALSE(LogEnabled(LogLevel::kError));
  Log(LogLevel::kError, "nobody reads this");
  {
    const Captured captured(LogLevel::kDebug);
  }
  EXPECT_FALSE(LogEnabled(LogLevel::kError)) << "the sink is gone";
}

TEST(Log, TheSinkGetsLinesUpToItsLevel) {
  const Captured captured(LogLevel::kInfo);
  EXPECT_TRUE(LogEnabled(LogLevel::kInfo));
  EXPECT_FALSE(LogEnabled(LogLevel::kDebug));
  Log(LogLevel::kDebug, "detail");
  Log(LogLevel::kInfo, "ready");
  Log(LogLevel::kError, "broken");
  EXPECT_EQ(captured.lines, (Lines{{LogLevel::kInfo, "ready"}, {LogLevel::kError, "broken"}}));
}

TEST(Log, OneCallIsOneLine) {
  const Captured captured(LogLevel::kDebug);
  Log(LogLevel::kInfo, "name: a\r\n2026 error: forged\x1b[2J\x7f, ä stays");
  EXPECT_EQ(
      captured.lines, (Lines{{LogLevel::kInfo, "name: a??2026 error: forged?[2J?, ä stays"}})
  );
}

TEST(Log, ASinkThatThrowsStopsNobody) {
  int calls = 0;
  SetLogSink(
      [&calls](LogLevel, std::string_view) {
        ++calls;
        throw std::runtime_error("disk full");
      },
      LogLevel::kInfo
  );
  Log(LogLevel::kInfo, "one");
  Log(LogLevel::kInfo, "two");
  SetLogSink({}, LogLevel::kError);
  EXPECT_EQ(calls, 2);
}

TEST(Log, LevelsHaveNames) {
  EXPECT_EQ(LogLevelName(LogLevel::kError), "error");
  EXPECT_EQ(LogLevelName(LogLevel::kWarning), "warning");
  EXPECT_EQ(LogLevelName(LogLevel::kInfo), "info");
  EXPECT_EQ(LogLevelName(LogLevel::kDebug), "debug");
}

// Sinks are exchanged while others log: every line reaches some sink, whole, and each sink goes when nobody is in it.
TEST(Log, SinksMayChangeWhileOthersLog) {
  constexpr int kThreads = 3;
  constexpr int kLines = 2000;
  const auto count = std::make_shared<std::atomic<int>>(0);
  const auto install = [&count] {
    SetLogSink(
        [count, expected = std::string("whole, and long enough to lie on the heap")](
            LogLevel, std::string_view line
        ) { *count += line == expected ? 1 : 1'000'000; },
        LogLevel::kInfo
    );
  };
  install();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int line = 0; line < kLines; ++line) {
        Log(LogLevel::kInfo, "whole, and long enough to lie on the heap");
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    install();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  SetLogSink({}, LogLevel::kError);
  EXPECT_EQ(count->load(), kThreads * kLines);
  EXPECT_EQ(count.use_count(), 1) << "a sink outlived its use";
}

}  // namespace
}  // namespace hearth
