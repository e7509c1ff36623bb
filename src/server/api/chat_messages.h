// The conversation of a chat request, brought into the one form that chat templates know.
#pragma once

#include <cstddef>
#include <string>

#include "server/api/json_body.h"

namespace hearth::api {

inline constexpr std::size_t kMaxMessages = 16384;
inline constexpr std::size_t kMaxArgumentBytes =
    4u << 20;  // of all tool calls together: each is built once more

// The messages as a template gets them:
// - role: system, user, assistant or tool; "developer" becomes "system";
// - content: always a string. Parts of type text (also input_text, output_text, refusal) are joined without anything
//   between them; null or nothing is "" where the schema allows it (an assistant, a tool);
// - tool_calls of the history keep their ids; arguments that are a JSON object in a string become the object;
// - reasoning_content, or reasoning as other servers call it, becomes reasoning_content;
// - name, tool_call_id and whatever else a template may know stay; null equals absent.
// Errors: RequestError(400) with the path, for example "messages[2].content[0].type": no array or an empty one, an unknown
//         role, content of another type, media.
Json NormalizeMessages(const Json& messages, const std::string& path = "messages");

}  // namespace hearth::api
