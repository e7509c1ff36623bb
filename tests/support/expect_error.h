// Expects that a call throws hearth::Error with a code and a part of its message. Every message must be one line of
// printable text, whatever the input was, so that is always checked too.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "hearth/error.h"

namespace hearth {

// Nothing that breaks a line or a terminal: no control characters.
inline bool IsOneLine(std::string_view message) {
  for (const char c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      return false;
    }
  }
  return !message.empty();
}

// Fails the test when the call throws nothing, another exception, another code or a message without `part`.
template <typename Call>
void ExpectError(Call&& call, ErrorCode code, std::string_view part) {
  try {
    call();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(ErrorCodeName(error.code()), ErrorCodeName(code)) << message;
    EXPECT_NE(message.find(part), std::string::npos)
        << "message: " << message << "\nwanted part: " << part;
    EXPECT_TRUE(IsOneLine(message)) << message;
    return;
  }
  ADD_FAILURE() << "no error, wanted one with: " << part;
}

}  // namespace hearth
