#include "server/api/choice_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hearth::api {
namespace {

// Characters of valid UTF-8.
std::uint64_t CharactersOf(std::string_view text) {
  return static_cast<std::uint64_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

}  // namespace

void ChoiceDelta::Append(ChoiceDelta next) {
  reasoning += next.reasoning;
  content += next.content;
  logprobs.insert(
      logprobs.end(),
      std::make_move_iterator(next.logprobs.begin()),
      std::make_move_iterator(next.logprobs.end())
  );
}

ChoiceText::ChoiceText(const ChoiceTextOptions& options)
    : wants_logprobs_(options.logprobs),
      splits_reasoning_(options.reasoning.has_value()),
      parser_(options.opens_thinking, options.reasoning.value_or(ReasoningMarkers{})),
      stops_(options.stop) {
}

void ChoiceText::AddEntry(TokenId id, std::optional<TokenLogprobs> logprobs) {
  if (wants_logprobs_) {
    entries_.push_back({{id, std::move(logprobs), text_characters_}, text_bytes_});
  }
}

void ChoiceText::ReleaseEntries(std::size_t before, ChoiceDelta& delta) {
  while (!entries_.empty() && entries_.front().begin < before) {
    delta.logprobs.push_back(std::move(entries_.front().entry));
    entries_.pop_front();
  }
}

ChoiceDelta ChoiceText::Echo(
    TokenId id, std::string_view bytes, std::optional<TokenLogprobs> logprobs
) {
  ChoiceDelta delta;
  AddEntry(id, std::move(logprobs));
  characters_.Push(bytes, delta.content);
  text_bytes_ += delta.content.size();
  text_characters_ += CharactersOf(delta.content);
  ReleaseEntries(text_bytes_, delta);
  return delta;
}

ChoiceDelta ChoiceText::Push(
    TokenId id, std::string_view bytes, std::optional<TokenLogprobs> logprobs
) {
  ChoiceDelta delta;
  if (stopped()) {
    return delta;
  }
  ++completion_tokens_;
  AddEntry(id, std::move(logprobs));
  std::string text;
  characters_.Push(bytes, text);
  Take(text, false, delta);
  CountReasoning();
  return delta;
}

ChoiceDelta ChoiceText::Finish(FinishReason reason) {
  ChoiceDelta delta;
  if (!stopped()) {
    std::string text;
    characters_.Finish(text);
    Take(text, true, delta);
  }
  const bool finished = reason == FinishReason::kStop && !stopped();
  if (finished && !content_at_ && !reasoning_.empty()) {
    stops_.Push(reasoning_, delta.content);
    stops_.Finish(delta.content);
  }
  finish_reason_ = stopped() ? FinishReason::kStop : reason;
  return delta;
}

void ChoiceText::Take(std::string_view text, bool final, ChoiceDelta& delta) {
  text_bytes_ += text.size();
  text_characters_ += CharactersOf(text);
  SplitText parts;
  if (splits_reasoning_) {
    parser_.Push(text, parts);
    if (final) {
      parser_.Finish(parts);
    }
  } else {
    parts.content = text;
  }
  if (!parts.content.empty() && !content_at_) {
    // Content goes through the parser as it is, so this is the end of the text.
    content_at_ = text_bytes_ - parts.content.size();
    reasoning_.clear();
  }
  if (!content_at_) {
    reasoning_ += parts.reasoning;
  }
  delta.reasoning += parts.reasoning;
  const std::size_t before = delta.content.size();
  stops_.Push(parts.content, delta.content);
  if (final) {
    stops_.Finish(delta.content);
  }
  content_bytes_ += delta.content.size() - before;
  if (stopped()) {
    ReleaseEntries(*content_at_ + content_bytes_, delta);
    entries_.clear();
  } else if (final) {
    ReleaseEntries(text_bytes_ + 1, delta);
  } else {
    const std::size_t held = stops_.held_bytes() + (splits_reasoning_ ? parser_.held_bytes() : 0);
    ReleaseEntries(text_bytes_ - held, delta);
  }
}

void ChoiceText::CountReasoning() {
  if (!splits_reasoning_ || parser_.in_content()) {
    // The token with a closing marker may have content behind it.
    if (splits_reasoning_ && parser_.closed_blocks() != counted_blocks_) {
      counted_blocks_ = parser_.closed_blocks();
      reasoning_tokens_ += undecided_tokens_ + 1;
    }
    undecided_tokens_ = 0;
    return;
  }
  ++undecided_tokens_;
  if (parser_.in_reasoning() || parser_.closed_blocks() != counted_blocks_) {
    counted_blocks_ = parser_.closed_blocks();
    reasoning_tokens_ += undecided_tokens_;
    undecided_tokens_ = 0;
  }
}

}  // namespace hearth::api
