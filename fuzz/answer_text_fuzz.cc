// The text of an answer: bytes, cut into tokens anywhere, with stop strings and thinking. The first byte chooses the options, the
// second the cuts, a line the stop string; the rest is what the model writes. The answer must not depend on the cuts, and
// a whole one must follow the rules of its parts.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "server/api/choice_text.h"
#include "text/utf8_stream.h"

namespace hearth::api {
namespace {

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

struct Answer {
  ChoiceDelta text;
  FinishReason reason;

  bool operator==(const Answer&) const = default;
};

// Logprobs stay out: their number is that of the tokens.
Answer Generate(
    std::string_view bytes, std::size_t cuts, ChoiceTextOptions options, FinishReason end
) {
  ChoiceText choice(options);
  Answer answer;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min(cuts, bytes.size() - at);
    answer.text.Append(choice.Push(0, bytes.substr(at, size)));
    at += size;
    cuts = cuts % 7 + 1;
  }
  answer.text.Append(choice.Finish(end));
  answer.reason = choice.finish_reason();
  Check(choice.reasoning_tokens() <= choice.completion_tokens());
  return answer;
}

void CheckUtf8(const std::string& text) {
  Utf8Stream stream;
  std::string again;
  stream.Push(text, again);
  stream.Finish(again);
  Check(again == text);
}

void Run(unsigned choice, std::size_t cuts, const std::string& stop, std::string_view bytes) {
  ChoiceTextOptions options;
  if ((choice & 1u) != 0) {
    options.reasoning = ReasoningMarkers{};
    options.opens_thinking = (choice & 2u) != 0;
  }
  if (!stop.empty()) {
    options.stop = {stop, stop + "!"};
  }
  const FinishReason end = (choice & 4u) != 0 ? FinishReason::kLength : FinishReason::kStop;
  const Answer whole = Generate(bytes, bytes.size() + 1, options, end);
  Check(Generate(bytes, 1 + cuts % 7, options, end) == whole);
  Check(Generate(bytes, 1, options, end) == whole);
  CheckUtf8(whole.text.reasoning);
  Check(stop.empty() || whole.text.content.find(stop) == std::string::npos);
  if (stop.empty()) {
    CheckUtf8(whole.text.content);
    Check(whole.reason == end);
    // A finished answer says something when the model did.
    Check(
        end == FinishReason::kLength || !whole.text.content.empty() || whole.text.reasoning.empty()
    );
  }
}

}  // namespace
}  // namespace hearth::api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) {
    return 0;
  }
  const std::string bytes(data + 2, data + size);
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  if (line < 256) {
    const std::string rest = bytes.substr(std::min(line + 1, bytes.size()));
    hearth::api::Run(data[0], data[1], bytes.substr(0, line), rest);
  }
  return 0;
}
