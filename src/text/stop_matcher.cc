#include "text/stop_matcher.h"

#include <algorithm>

#include "hearth/error.h"

namespace hearth {

StopMatcher::StopMatcher(const std::vector<std::string>& stops) {
  for (const std::string& text : stops) {
    if (text.empty()) {
      throw Error(
          ErrorCode::kInvalidArgument, "stop: got an empty string, wanted at least one character"
      );
    }
    Stop stop{.text = text, .fallback = std::vector<std::size_t>(text.size(), 0)};
    for (std::size_t i = 1, length = 0; i < text.size(); ++i) {
      while (length > 0 && text[i] != text[length]) {
        length = stop.fallback[length - 1];
      }
      length += text[i] == text[length] ? 1u : 0u;
      stop.fallback[i] = length;
    }
    stops_.push_back(std::move(stop));
  }
}

void StopMatcher::Advance(Stop& stop, char byte) {
  while (stop.matched > 0 && stop.text[stop.matched] != byte) {
    stop.matched = stop.fallback[stop.matched - 1];
  }
  stop.matched += stop.text[stop.matched] == byte ? 1u : 0u;
}

void StopMatcher::Push(std::string_view text, std::string& out) {
  if (stopped_by_) {
    return;
  }
  if (stops_.empty()) {
    out += text;
    return;
  }
  for (const char byte : text) {
    held_ += byte;
    std::size_t longest = 0;
    for (std::size_t i = 0; i < stops_.size(); ++i) {
      Stop& stop = stops_[i];
      Advance(stop, byte);
      if (stop.matched == stop.text.size() &&
          (!stopped_by_ || stop.matched > stops_[*stopped_by_].matched)) {
        stopped_by_ = i;
      }
      longest = std::max(longest, stop.matched);
    }
    if (stopped_by_) {
      out.append(held_, 0, held_.size() - stops_[*stopped_by_].text.size());
      held_.clear();
      return;
    }
    out.append(held_, 0, held_.size() - longest);
    held_.erase(0, held_.size() - longest);
  }
}

void StopMatcher::Finish(std::string& out) {
  out += held_;
  held_.clear();
}

}  // namespace hearth
