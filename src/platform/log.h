// The logging seam: layers say what an operator may want to know, the program decides whether and where it is written.
// Knows lines, not their meaning.
#pragma once

#include <functional>
#include <string_view>

namespace hearth {

// Ascending in detail; a program that shows a level shows those before it.
enum class LogLevel {
  kError,    // something failed that reached nobody else
  kWarning,  // it goes on, but somebody should look
  kInfo,     // what an operator would want to read of a day
  kDebug,    // what helps to understand one case; may cost time
};

// "error", "warning", "info", "debug". Never fails.
std::string_view LogLevelName(LogLevel level);

// Receives one line without its end. Called on any thread, by several at once. What it throws is dropped: a log that
// cannot be written stops nobody's work.
using LogSink = std::function<void(LogLevel level, std::string_view line)>;

// From now on, lines up to `most` go to `sink`; an empty sink is silence, which is also the beginning.
// A thread that is logging at this moment may still finish in the sink from before, which lives until then.
// Threads: safe from any thread.
void SetLogSink(LogSink sink, LogLevel most);

// Whether anybody would read a line of this level: asked before a line is put together that costs something.
// Threads: safe from any thread. Cost: one relaxed load.
bool LogEnabled(LogLevel level) noexcept;

// Hands the line to the sink if its level is enabled. Control characters become '?', so that one call is one line
// whatever a name from outside contains.
// Threads: safe from any thread; a sink may log, but must see to its own end.
void Log(LogLevel level, std::string_view line) noexcept;

}  // namespace hearth
