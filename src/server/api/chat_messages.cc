#include "server/api/chat_messages.h"

#include <fmt/core.h>

#include <array>
#include <string_view>
#include <utility>

#include "server/api/api_error.h"
#include "server/api/object_reader.h"

namespace hearth::api {
namespace {

constexpr std::size_t kMaxRoleBytes = 64;

std::string ReadRole(ObjectReader& message) {
  const std::string role = message.String("role", kMaxRoleBytes).value_or("");
  if (role == "developer") {
    return "system";
  }
  for (const std::string_view known : {"system", "user", "assistant", "tool"}) {
    if (role == known) {
      return role;
    }
  }
  message.Fail("role", role, "system, developer, user, assistant or tool");
}

std::string ReadPart(const Json& part, const std::string& path) {
  if (part.is_string()) {
    return part.get<std::string>();
  }
  ObjectReader reader(part, path);
  const std::string type = reader.String("type").value_or("");
  const bool is_text = type == "text" || type == "input_text" || type == "output_text";
  if (!is_text && type != "refusal") {
    for (const std::string_view media :
         {"image_url",
          "input_image",
          "input_audio",
          "audio_url",
          "video_url",
          "file",
          "input_file"}) {
      if (type == media) {
        throw RequestError(UnsupportedField(
            reader.PathOf("type"),
            fmt::format("{} is not supported by this server yet, only text is", media)
        ));
      }
    }
    reader.Fail("type", type, "text");
  }
  const std::string_view field = is_text ? "text" : "refusal";
  auto text = reader.String(field);
  if (!text) {
    reader.Fail(field, nullptr, "a string");
  }
  return *std::move(text);
}

// The text of a message, "" when it has none; whether that may be is the caller's matter.
std::string ReadContent(const Json& content, const std::string& path) {
  if (content.is_string()) {
    return content.get<std::string>();
  }
  if (!content.is_array()) {
    FailAt(path, content, "a string or an array of parts");
  }
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    text += ReadPart(content[i], fmt::format("{}[{}]", path, i));
  }
  return text;
}

// Templates print arguments as they would a Python dict; clients send JSON in a string. `budget` is what may still be opened.
void OpenArguments(Json& function, const std::string& path, std::size_t& budget) {
  const auto arguments = function.find("arguments");
  if (arguments == function.end() || !arguments->is_string()) {
    return;
  }
  const std::size_t size = arguments->get_ref<const std::string&>().size();
  if (size > budget) {
    FailAt(
        path + ".arguments",
        fmt::format("{} bytes", size),
        fmt::format("at most {} bytes of all tool calls together", kMaxArgumentBytes)
    );
  }
  budget -= size;
  try {
    Json parsed = ParseJson(arguments->get_ref<const std::string&>());
    if (parsed.is_object()) {
      *arguments = std::move(parsed);
    }
  } catch (const RequestError&) {
    // What a model once wrote need not be JSON; the template then prints the string.
    return;
  }
}

Json ReadToolCalls(const Json& calls, const std::string& path, std::size_t& budget) {
  if (!calls.is_array()) {
    FailAt(path, calls, "an array");
  }
  Json read = Json::array();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    ObjectReader call(calls[i], at);
    call.IgnoreString("id");
    call.IgnoreString("type");
    const Json* function = call.Find("function");
    if (function == nullptr) {
      call.Fail("function", nullptr, "an object");
    }
    ObjectReader reader(*function, call.PathOf("function"));
    if (!reader.String("name")) {
      reader.Fail("name", nullptr, "a string");
    }
    Json copy = calls[i];
    OpenArguments(copy["function"], call.PathOf("function"), budget);
    read.push_back(std::move(copy));
  }
  return read;
}

Json ReadMessage(const Json& message, const std::string& path, std::size_t& argument_budget) {
  ObjectReader reader(message, path);
  const std::string role = ReadRole(reader);
  Json read = {{"role", role}, {"content", ""}};
  const Json* calls = reader.Find("tool_calls");
  if (calls != nullptr && role == "assistant" && !(calls->is_array() && calls->empty())) {
    read["tool_calls"] = ReadToolCalls(*calls, reader.PathOf("tool_calls"), argument_budget);
  }
  const auto reasoning = reader.String("reasoning_content");
  const auto other_reasoning = reader.String("reasoning");
  if (reasoning || other_reasoning) {
    read["reasoning_content"] = reasoning ? *reasoning : *other_reasoning;
  }
  if (const Json* content = reader.Find("content")) {
    read["content"] = ReadContent(*content, reader.PathOf("content"));
  } else if (role == "system" || role == "user") {
    reader.Fail("content", nullptr, "a string or an array of parts");
  }
  reader.Refuse("audio", "only text is supported by this server yet");
  reader.Refuse("function_call", "it was replaced by tool_calls");
  reader.IgnoreString("name");
  reader.IgnoreString("tool_call_id");
  constexpr std::array<std::string_view, 7> kDone = {
      "role", "content", "tool_calls", "reasoning_content", "reasoning", "audio", "function_call"
  };
  for (const auto& item : message.items()) {
    const bool done = std::find(kDone.begin(), kDone.end(), item.key()) != kDone.end();
    if (!done && !item.value().is_null()) {
      // The keys are distinct already, so that nothing is looked for.
      read.get_ref<Json::object_t&>().emplace_back(item.key(), item.value());
    }
  }
  return read;
}

}  // namespace

Json NormalizeMessages(const Json& messages, const std::string& path) {
  if (!messages.is_array() || messages.empty()) {
    throw RequestError(InvalidRequest(
        fmt::format(
            "{}: got {}, wanted an array with at least one message",
            path,
            messages.is_array() ? "an empty array" : Quoted(messages)
        ),
        path
    ));
  }
  if (messages.size() > kMaxMessages) {
    FailAt(path, messages.size(), fmt::format("at most {} messages", kMaxMessages));
  }
  Json read = Json::array();
  std::size_t argument_budget = kMaxArgumentBytes;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    read.push_back(ReadMessage(messages[i], fmt::format("{}[{}]", path, i), argument_budget));
  }
  return read;
}

}  // namespace hearth::api
