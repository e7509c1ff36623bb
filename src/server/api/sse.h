// Server-sent events: frames out, and frames read back for clients of our own and tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::api {

// One event: "data: ...", one line of it for each line of the data, and an empty line. With a name, "event: ..." before it.
// The data may be any text without CR; the name is one line.
std::string SseEvent(std::string_view data, std::string_view name = "");

// ": text", which clients ignore and which keeps connections alive. The text is one line.
std::string SseComment(std::string_view text);

// The end of a stream of OpenAI's API.
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";

// Reads a stream in pieces of any size, as the HTML standard says: lines end in LF, CR or CRLF; an event ends at an empty line;
// comments, other fields and an event without data are skipped; what the end cuts off is no event.
// Threads: one user at a time. Cost: linear; holds one event, which the caller bounds.
class SseParser {
 public:
  struct Event {
    std::string name;  // empty: a plain message
    std::string data;

    bool operator==(const Event&) const = default;
  };

  // The events that are complete with these bytes.
  std::vector<Event> Push(std::string_view bytes);

  // Bytes of the event that is not complete.
  std::size_t held_bytes() const { return line_.size() + event_.name.size() + event_.data.size(); }

 private:
  void EndLine(std::vector<Event>& events);

  std::string line_;
  bool after_cr_ = false;
  bool has_data_ = false;
  Event event_;
};

}  // namespace hearth::api
