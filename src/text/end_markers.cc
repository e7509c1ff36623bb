#include "text/end_markers.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace hearth {
namespace {

// In order of preference as the end of a turn.
constexpr std::array<std::string_view, 11> kTurnEnds = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "[EOT]",
    "<EOT>",
    "_<EOT>",
    "<end_of_utterance>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<|end_of_text|>",
    "<|endoftext|>",
};

constexpr std::array<std::string_view, 18> kOtherEnds = {
    "<|return|>",  // the end of an answer, and of a call, in formats with channels
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "</s>",
    "<eos>",
    "[EOS]",
    "<|eom_id|>",
    "[e~[",
    "<|fim_pad|>",  // code that is filled in ends where the next part of the file would start
    "<fim-pad>",
    "<fim_pad>",
    "<PAD>",
    "<|fim_repo|>",
    "<|repo_name|>",
    "<fim-repo>",
    "<reponame>",
    "<|file_sep|>",
};

bool Contains(std::span<const std::string_view> list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

}  // namespace

bool IsEndMarker(std::string_view text) {
  return Contains(kTurnEnds, text) || Contains(kOtherEnds, text);
}

EndTokens FindEndTokens(const TokenizerDescription& description) {
  EndTokens found;
  found.ends = description.end_of_generation;
  for (const auto& named : {description.eos, description.eot}) {
    if (named) {
      found.ends.push_back(*named);
    }
  }
  found.turn_end = description.eot;
  std::size_t preference = kTurnEnds.size();
  std::optional<TokenId> message_end;
  bool has_channels = false;
  for (std::size_t id = 0; id < description.tokens.size(); ++id) {
    const std::string& text = description.tokens[id];
    if (!IsEndMarker(text)) {
      continue;
    }
    const auto token = static_cast<TokenId>(id);
    found.ends.push_back(token);
    has_channels = has_channels || text == "<|call|>" || text == "<|calls|>";
    if (text == "<|end|>") {
      message_end = token;
    }
    const auto place =
        static_cast<std::size_t>(std::ranges::find(kTurnEnds, text) - kTurnEnds.begin());
    if (!description.eot && place < preference) {
      preference = place;
      found.turn_end = token;
    }
  }
  // In formats with channels "<|end|>" ends one message of an answer, which may go on.
  if (has_channels && message_end) {
    std::erase(found.ends, *message_end);
  }
  std::ranges::sort(found.ends);
  found.ends.erase(std::ranges::unique(found.ends).begin(), found.ends.end());
  return found;
}

}  // namespace hearth
