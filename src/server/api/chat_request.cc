#include "server/api/chat_request.h"

#include <fmt/core.h>

#include <array>
#include <utility>

#include "server/api/api_error.h"
#include "server/api/chat_messages.h"

namespace hearth::api {
namespace {

constexpr std::array<std::string_view, 6> kEfforts = {
    "none", "minimal", "low", "medium", "high", "xhigh"
};

std::optional<ReasoningEffort> ReadEffort(ObjectReader& body) {
  const auto name = body.String("reasoning_effort");
  if (!name) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < kEfforts.size(); ++i) {
    if (*name == kEfforts[i]) {
      return static_cast<ReasoningEffort>(i);
    }
  }
  body.Fail("reasoning_effort", *name, "none, minimal, low, medium, high or xhigh");
}

// logprobs says whether, top_logprobs how many alternatives; -1 is none, as for mlx_lm.server.
std::optional<std::uint32_t> ReadChatLogprobs(ObjectReader& body) {
  const bool asked = body.Bool("logprobs").value_or(false);
  const std::int64_t top = body.Integer("top_logprobs", -1, kMaxTopLogprobs).value_or(-1);
  if (!asked && top > 0) {
    body.Fail("top_logprobs", top, "it only together with logprobs: true");
  }
  if (!asked) {
    return std::nullopt;
  }
  return static_cast<std::uint32_t>(std::max<std::int64_t>(top, 0));
}

// A text that stands in none of the messages, to find a place again after rendering.
std::string AbsentMark(const Json& messages) {
  const std::string all = DumpJson(messages);
  for (unsigned i = 0;; ++i) {
    std::string mark = fmt::format("|hearth-continues-here-{}|", i);
    if (all.find(mark) == std::string::npos) {
      return mark;
    }
  }
}

bool LeavesThinkingOpen(std::string_view text, const ReasoningMarkers& markers) {
  ReasoningParser parser(false, markers);
  SplitText parts;
  parser.Push(text, parts);
  return parser.in_reasoning();
}

}  // namespace

std::string_view ReasoningEffortName(ReasoningEffort effort) {
  return kEfforts[static_cast<std::size_t>(effort)];
}

ChatRequest ReadChatRequest(const Json& body) {
  ObjectReader reader(body);
  ChatRequest request;
  request.generation = ReadGenerationFields(reader);
  const Json* messages = reader.Find("messages");
  request.messages = NormalizeMessages(messages != nullptr ? *messages : Json());
  const auto max_tokens = ReadTokenLimit(reader, "max_tokens", 1);
  const auto max_completion_tokens = ReadTokenLimit(reader, "max_completion_tokens", 1);
  request.generation.max_tokens = max_completion_tokens ? max_completion_tokens : max_tokens;
  request.generation.top_logprobs = ReadChatLogprobs(reader);
  request.reasoning_effort = ReadEffort(reader);
  if (const Json* variables = reader.Find("chat_template_kwargs")) {
    if (!variables->is_object()) {
      reader.Fail("chat_template_kwargs", *variables, "an object");
    }
    request.template_variables = *variables;
  }
  if (const Json* verbosity = reader.Find("verbosity");
      verbosity != nullptr && *verbosity != "medium") {
    request.generation.unknown.emplace_back("verbosity");
  }

  const bool may_continue = reader.Bool("continue_final_message").value_or(true);
  const Json& last = request.messages.back();
  if (may_continue && last["role"] == "assistant") {
    if (last.contains("tool_calls")) {
      const std::string path = fmt::format("messages[{}]", request.messages.size() - 1);
      throw RequestError(InvalidRequest(
          path + ": got a last message with tool_calls, wanted the tools' answers behind it", path
      ));
    }
    request.continues_last = last["content"] != "";
    if (!request.continues_last && last.value("reasoning_content", "") != "") {
      const std::string path = fmt::format("messages[{}]", request.messages.size() - 1);
      throw RequestError(InvalidRequest(
          path + ": got a last message of reasoning without content, which cannot be continued",
          path
      ));
    }
    if (!request.continues_last && request.messages.size() > 1) {
      request.messages.erase(request.messages.size() - 1);
    }
  }
  for (std::string& name : reader.Unknown()) {
    request.generation.unknown.push_back(std::move(name));
  }
  return request;
}

Json TemplateVariables(const ChatRequest& request, std::optional<bool> thinking_flag) {
  Json variables = request.template_variables;
  if (request.reasoning_effort && !variables.contains("reasoning_effort")) {
    variables["reasoning_effort"] = ReasoningEffortName(*request.reasoning_effort);
  }
  const auto own = variables.find("enable_thinking");
  if (own != variables.end()) {
    if (own->is_null()) {
      variables.erase("enable_thinking");
    }
  } else if (request.reasoning_effort) {
    variables["enable_thinking"] = *request.reasoning_effort != ReasoningEffort::kNone;
  } else if (thinking_flag) {
    variables["enable_thinking"] = *thinking_flag;
  }
  return variables;
}

ChatPrompt MakeChatPrompt(
    const ChatRequest& request,
    const Json& variables,
    const RenderTemplate& render,
    const ReasoningMarkers& markers
) {
  if (!request.continues_last) {
    ChatPrompt prompt{.text = render(request.messages, variables, true)};
    prompt.opens_thinking = OpensThinking(prompt.text, markers);
    return prompt;
  }
  const std::string mark = AbsentMark(request.messages);
  Json messages = request.messages;
  const auto content = messages.back()["content"].get<std::string>();
  messages.back()["content"] = content + mark;
  ChatPrompt prompt{.text = render(messages, variables, false)};
  const std::size_t end = prompt.text.rfind(mark);
  if (end == std::string::npos) {
    const std::string path = fmt::format("messages[{}]", messages.size() - 1);
    throw RequestError(InvalidRequest(
        path + ": the model's chat template does not show it, so that it cannot be continued", path
    ));
  }
  prompt.text.resize(end);
  prompt.opens_thinking = LeavesThinkingOpen(content, markers);
  return prompt;
}

}  // namespace hearth::api
