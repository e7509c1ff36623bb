#include "server/api/sse.h"

#include <utility>

namespace hearth::api {

std::string SseEvent(std::string_view data, std::string_view name) {
  std::string frame;
  frame.reserve(data.size() + name.size() + 16);
  if (!name.empty()) {
    frame.append("event: ").append(name).append("\n");
  }
  for (std::size_t begin = 0;;) {
    const std::size_t end = data.find('\n', begin);
    frame.append("data: ").append(data.substr(begin, end - begin)).append("\n");
    if (end == std::string_view::npos) {
      break;
    }
    begin = end + 1;
  }
  return frame += '\n';
}

std::string SseComment(std::string_view text) {
  return std::string(": ").append(text).append("\n\n");
}

std::vector<SseParser::Event> SseParser::Push(std::string_view bytes) {
  std::vector<Event> events;
  for (const char byte : bytes) {
    const bool follows_cr = std::exchange(after_cr_, byte == '\r');
    if (byte == '\n' && follows_cr) {
      continue;
    }
    if (byte == '\n' || byte == '\r') {
      EndLine(events);
    } else {
      line_ += byte;
    }
  }
  return events;
}

void SseParser::EndLine(std::vector<Event>& events) {
  const std::string line = std::exchange(line_, "");
  if (line.empty()) {
    if (has_data_) {
      event_.data.pop_back();  // the line feed of its last line
      events.push_back(std::move(event_));
    }
    event_ = {};
    has_data_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = std::string_view(line).substr(0, colon);
  std::string_view value =
      colon == std::string::npos ? std::string_view() : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  if (field == "data") {
    event_.data.append(value).append("\n");
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  }
}

}  // namespace hearth::api
