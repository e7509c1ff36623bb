// POST /v1/chat/completions, as values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/api/generation_fields.h"
#include "server/api/json_body.h"
#include "text/reasoning_parser.h"

namespace hearth::api {

enum class ReasoningEffort : std::uint8_t { kNone, kMinimal, kLow, kMedium, kHigh, kXhigh };

// "none", ..., "xhigh".
std::string_view ReasoningEffortName(ReasoningEffort effort);

struct ChatRequest {
  GenerationFields generation{};
  Json messages{};  // of NormalizeMessages, without an empty assistant message at the end
  bool continues_last =
      false;  // the last message is the assistant's: the answer goes on from its content
  Json template_variables = Json::object();  // chat_template_kwargs
  std::optional<ReasoningEffort> reasoning_effort{};
};

// Errors: RequestError(400) naming the field. The last message may be the assistant's, to be continued, unless
//         continue_final_message is false; not when it has tool calls, or reasoning without content.
ChatRequest ReadChatRequest(const Json& body);

// What the template is called with: chat_template_kwargs; reasoning_effort under its name; and enable_thinking, said by the
// first of: chat_template_kwargs.enable_thinking (null: leave it to the template), reasoning_effort ("none" is false),
// the server's flag. Pure.
Json TemplateVariables(const ChatRequest& request, std::optional<bool> thinking_flag);

// Renders messages with variables; the last argument says whether the text ends with what starts the assistant's answer.
using RenderTemplate = std::function<std::string(const Json&, const Json&, bool)>;

struct ChatPrompt {
  std::string text{};
  bool opens_thinking = false;  // the answer begins inside thinking

  bool operator==(const ChatPrompt&) const = default;
};

// The prompt of a request. An answer that goes on from the last message gets a prompt that ends with that message's content,
// to the character, whatever the template writes behind it or trims off it.
// Errors: those of `render`; RequestError(400) when the template does not show the message that is to be continued.
ChatPrompt MakeChatPrompt(
    const ChatRequest& request,
    const Json& variables,
    const RenderTemplate& render,
    const ReasoningMarkers& markers = {}
);

}  // namespace hearth::api
