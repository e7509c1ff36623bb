// Bytes to UTF-8 text, a piece at a time.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// Turns a sequence of bytes, in pieces of any size, into valid UTF-8. What is put out never ends inside a
// character: the start of one waits for its rest. Bytes that belong to no character become U+FFFD, one for
// each maximal part of a character, as a decoder of the whole would do it, so that the pieces joined equal
// the whole decoded at once.
// Threads: one user at a time. Cost: linear; holds at most three bytes.
// Source:  the Unicode Standard, chapter 3.9, "U+FFFD Substitution of Maximal Subparts".
class Utf8Stream {
 public:
  // Appends the text that is complete by now to `out`.
  void Push(std::string_view bytes, std::string& out);

  // The end of the bytes: a character that is not complete becomes U+FFFD. The stream may then start anew.
  void Finish(std::string& out);

 private:
  void Start(unsigned char byte, std::string& out);

  std::array<char, 4> pending_{};
  std::size_t size_ = 0;    // bytes in pending_
  std::size_t wanted_ = 0;  // bytes of the whole character
};

}  // namespace hearth
