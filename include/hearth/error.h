// The one exception type of hearth: a closed list of codes and a message that says where, what was
// got and what was wanted. Everything that a caller may expect to go wrong (a broken file, a bad
// request, no room, cancellation) is an Error; a broken invariant of our own is a CHECK elsewhere.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth {

enum class ErrorCode {
  kInvalidArgument,    // the caller's values are wrong: fix the request or the flag
  kNotFound,           // a named thing does not exist
  kUnsupported,        // understood, but this build or machine cannot do it
  kCorruptData,        // bytes from outside break their format
  kResourceExhausted,  // a limit or a budget would be passed
  kOverloaded,         // full now; may succeed later
  kCancelled,          // the caller asked for the end
  kDeadlineExceeded,   // a time limit ran out
  kIo,                 // the operating system refused
  kInternal,           // our own fault
};

// The code's stable name, for example "corrupt_data": used in JSON and logs. Never fails.
std::string_view ErrorCodeName(ErrorCode code);

// Threads: a value like any exception. The message is one line: "where: got ..., wanted ...".
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}

  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace hearth
