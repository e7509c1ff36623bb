// A chat template out of a model file, rendered over a conversation with tools. Any source must give valid UTF-8 or one
// hearth::Error of one line, in bounded time and memory.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "hearth/error.h"
#include "text/chat_template.h"
#include "text/utf8_stream.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

const Json kMessages = Json::parse(R"([
  {"role": "system", "content": "Be kind."},
  {"role": "user", "content": [{"type": "text", "text": " \u00e9 \ud83d\ude00 <b>"}]},
  {"role": "assistant", "content": null, "reasoning_content": "hm",
   "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"x": 1, "y": [1e-5, null]}}}]},
  {"role": "tool", "tool_call_id": "c1", "content": "21"},
  {"role": "user", "content": "more"}
])");
const Json kTools = Json::parse(
    R"([{"type": "function", "function": {"name": "f", "description": "d \"q\"",
  "parameters": {"type": "object", "properties": {"x": {"type": "integer", "default": 1}}, "required": ["x"]}}}])"
);

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void CheckOneLine(std::string_view message) {
  Check(!message.empty());
  for (const char c : message) {
    Check(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  }
}

void CheckUtf8(const std::string& text) {
  Utf8Stream stream;
  std::string again;
  stream.Push(text, again);
  stream.Finish(again);
  Check(again == text);
}

void RenderTemplate(std::string_view source) {
  try {
    const ChatTemplate chat_template(source, {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
    std::tm now{};
    now.tm_mday = 1;
    const Json variables = {{"enable_thinking", true}};
    CheckUtf8(chat_template.Render(kMessages, kTools, variables, {.now = now}));
  } catch (const Error& error) {
    Check(error.code() != ErrorCode::kInternal);
    CheckOneLine(error.what());
  }
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hearth::RenderTemplate({reinterpret_cast<const char*>(data), size});
  return 0;
}
