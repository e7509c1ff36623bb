#include "platform/log.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace hearth {
namespace {

constexpr int kSilent = -1;

struct Logging {
  std::atomic<int> most{kSilent};
  std::mutex mutex;
  std::shared_ptr<const LogSink> sink;  // guarded by mutex
};

// Never destroyed: threads and destructors of globals may log until the process ends.
Logging& State() {
  static Logging& state = *new Logging;
  return state;
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::string_view LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      return "debug";
  }
  return "unknown";
}

void SetLogSink(LogSink sink, LogLevel most) {
  Logging& state = State();
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(state.mutex);
  state.most.store(next ? static_cast<int>(most) : kSilent, std::memory_order_relaxed);
  state.sink.swap(next);
  // The one from before ends after the lock if nobody is in it: what it owns may log when it goes.
}

bool LogEnabled(LogLevel level) noexcept {
  return static_cast<int>(level) <= State().most.load(std::memory_order_relaxed);
}

void Log(LogLevel level, std::string_view line) noexcept {
  if (!LogEnabled(level)) {
    return;
  }
  try {
    Logging& state = State();
    std::shared_ptr<const LogSink> sink;
    {
      const std::lock_guard lock(state.mutex);
      sink = state.sink;
    }
    if (!sink) {
      return;
    }
    if (std::any_of(line.begin(), line.end(), IsControl)) {
      std::string clean(line);
      std::replace_if(clean.begin(), clean.end(), IsControl, '?');
      (*sink)(level, clean);
    } else {
      (*sink)(level, line);
    }
  } catch (...) {  // nobody is left to be told
  }
}

}  // namespace hearth
