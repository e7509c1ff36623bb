// Stop strings over a stream of text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Passes text on until one of the stop strings has appeared in it, wherever the text was cut: a stop may lie across pieces.
// The text counts as read byte by byte; the first stop to be complete ends it, the longest of several that end together.
// What comes before the stop is passed on, the stop and all that follows is not. Held back is exactly the part that could
// still become the start of a stop: the longest end of the text that begins one. So pieces of whole characters give whole
// characters.
// Threads: one user at a time. Cost: linear in the text times the number of stops; holds less than the longest stop.
class StopMatcher {
 public:
  // Errors: Error(kInvalidArgument) when a stop is empty, which would end every answer at once.
  explicit StopMatcher(const std::vector<std::string>& stops);

  // Appends to `out` what can no longer be a part of a stop. After a stop nothing is.
  void Push(std::string_view text, std::string& out);

  // The end of the text: what was held back is passed on.
  void Finish(std::string& out);

  // The stop that ended the text, by its place in the list.
  std::optional<std::size_t> stopped_by() const { return stopped_by_; }

  // Bytes that are held back now.
  std::size_t held_bytes() const { return held_.size(); }

 private:
  struct Stop {
    std::string text;
    std::vector<std::size_t>
        fallback;             // [i]: longest proper beginning of text[0..i] that also ends it
    std::size_t matched = 0;  // bytes of `text` that end what was read
  };

  void Advance(Stop& stop, char byte);

  std::vector<Stop> stops_;
  std::string held_;
  std::optional<std::size_t> stopped_by_;
};

}  // namespace hearth
