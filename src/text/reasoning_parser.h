// What a model thinks, apart from what it says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

// What a model writes around its thinking; both not empty.
struct ReasoningMarkers {
  std::string open = "<think>";
  std::string close = "</think>";

  bool operator==(const ReasoningMarkers&) const = default;
};

// Text of an answer in its two parts. Reasoning comes first: no thinking is recognised behind content.
struct SplitText {
  std::string reasoning;
  std::string content;

  bool operator==(const SplitText&) const = default;
};

// Splits a stream of text into reasoning and content. The result does not depend on where the text was cut.
//
// - A block of thinking counts only where the answer begins, with nothing but white space before it; further blocks may
//   follow it in the same way. Once there is content, markers are text like any other: an answer may speak of "<think>".
// - Thinking may have been opened by the prompt (OpensThinking). A model that writes the opening marker again gets it
//   dropped.
// - White space beside a marker belongs to neither part. An answer without thinking keeps all of its white space.
// - Thinking that does not end is reasoning; content is then empty. What that means for an answer that is finished is
//   decided where the finish reason is known.
// - A closing marker without an opening one is content.
//
// Threads: one user at a time. Cost: linear; holds back a part of a marker and the white space beside it.
class ReasoningParser {
 public:
  explicit ReasoningParser(bool opened_by_prompt = false, ReasoningMarkers markers = {});

  // Appends to `out` what is decided by now.
  void Push(std::string_view text, SplitText& out);

  // The end of the text: the rest is decided.
  void Finish(SplitText& out);

  // Whether the text read so far ends inside thinking, as far as it is decided.
  bool in_reasoning() const { return state_ == State::kBlockStart || state_ == State::kBlock; }

  // Whether content has begun; then all that follows is content as it is.
  bool in_content() const { return state_ == State::kContent; }

  // Blocks that were closed.
  std::uint32_t closed_blocks() const { return closed_blocks_; }

  // Bytes that are held back now.
  std::size_t held_bytes() const { return held_.size(); }

 private:
  enum class State : std::uint8_t {
    kOutside,     // no content yet: a block may open
    kBlockStart,  // in a block, before its first character that is no white space
    kBlock,
    kContent,
  };

  // One decision about the start of held_; false when it needs more text.
  bool Step(bool final, SplitText& out);
  bool StepOutside(bool final);
  bool StepBlockStart(bool final);
  bool StepBlock(bool final, SplitText& out);

  ReasoningMarkers markers_;
  State state_;
  bool may_repeat_open_;
  std::uint32_t closed_blocks_ = 0;
  std::string held_;
};

// Whether a prompt ends inside thinking: with the opening marker, and white space behind it at most.
bool OpensThinking(std::string_view prompt, const ReasoningMarkers& markers = {});

}  // namespace hearth
