#include "text/reasoning_parser.h"

#include <algorithm>
#include <utility>

namespace hearth {
namespace {

constexpr std::string_view kSpace = " \n\r\t";

std::size_t LeadingSpace(std::string_view text) {
  return std::min(text.find_first_not_of(kSpace), text.size());
}

std::string_view WithoutTrailingSpace(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSpace);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool IsProperStart(std::string_view start, std::string_view whole) {
  return start.size() < whole.size() && whole.starts_with(start);
}

// Length of the longest end of `text` that begins `marker` and is not all of it.
std::size_t EndThatBegins(std::string_view text, std::string_view marker) {
  std::size_t length = std::min(text.size(), marker.size() - 1);
  while (length > 0 && !text.ends_with(marker.substr(0, length))) {
    --length;
  }
  return length;
}

}  // namespace

ReasoningParser::ReasoningParser(bool opened_by_prompt, ReasoningMarkers markers)
    : markers_(std::move(markers)),
      state_(opened_by_prompt ? State::kBlockStart : State::kOutside),
      may_repeat_open_(opened_by_prompt) {
}

void ReasoningParser::Push(std::string_view text, SplitText& out) {
  held_ += text;
  while (Step(false, out)) {
  }
}

void ReasoningParser::Finish(SplitText& out) {
  while (Step(true, out)) {
  }
}

bool ReasoningParser::Step(bool final, SplitText& out) {
  if (held_.empty()) {
    return false;
  }
  switch (state_) {
    case State::kOutside:
      return StepOutside(final);
    case State::kBlockStart:
      return StepBlockStart(final);
    case State::kBlock:
      return StepBlock(final, out);
    case State::kContent:
      break;
  }
  out.content += held_;
  held_.clear();
  return false;
}

bool ReasoningParser::StepOutside(bool final) {
  const std::size_t space = LeadingSpace(held_);
  const std::string_view rest = std::string_view(held_).substr(space);
  if (rest.starts_with(markers_.open)) {
    held_.erase(0, space + markers_.open.size());
    state_ = State::kBlockStart;
    return true;
  }
  if (!final && IsProperStart(rest, markers_.open)) {  // also when it is empty
    return false;
  }
  if (closed_blocks_ > 0) {
    held_.erase(0, space);
  }
  // White space alone behind a block is no content.
  state_ = held_.empty() ? State::kOutside : State::kContent;
  return true;
}

bool ReasoningParser::StepBlockStart(bool final) {
  held_.erase(0, LeadingSpace(held_));
  if (may_repeat_open_ && held_.starts_with(markers_.open)) {
    held_.erase(0, markers_.open.size());
    may_repeat_open_ = false;
    return true;
  }
  if (!final && (held_.empty() || (may_repeat_open_ && IsProperStart(held_, markers_.open)))) {
    return false;
  }
  state_ = State::kBlock;
  return true;
}

bool ReasoningParser::StepBlock(bool final, SplitText& out) {
  const std::string_view text = held_;
  const std::size_t close = text.find(markers_.close);
  if (close != std::string_view::npos) {
    out.reasoning += WithoutTrailingSpace(text.substr(0, close));
    held_.erase(0, close + markers_.close.size());
    ++closed_blocks_;
    may_repeat_open_ = false;
    state_ = State::kOutside;
    return true;
  }
  const std::string_view decided =
      final
          ? text
          : WithoutTrailingSpace(text.substr(0, text.size() - EndThatBegins(text, markers_.close)));
  out.reasoning += decided;
  held_.erase(0, decided.size());
  return false;
}

bool OpensThinking(std::string_view prompt, const ReasoningMarkers& markers) {
  return WithoutTrailingSpace(prompt).ends_with(markers.open);
}

}  // namespace hearth
