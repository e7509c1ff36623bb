// The body of a request. Any bytes must give a request within its bounds or one RequestError that can be sent; what a
// conversation was brought into must be accepted again and stay as it is.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "hearth/sampling_parameters.h"
#include "server/api/api_error.h"
#include "server/api/chat_messages.h"
#include "server/api/chat_request.h"
#include "server/api/completion_request.h"
#include "server/api/text_requests.h"

namespace hearth::api {
namespace {

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

template <typename Read>
void Try(Read read) {
  try {
    read();
  } catch (const RequestError& error) {
    const std::string_view message = error.what();
    Check(!message.empty());
    for (const char c : message) {
      Check(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
    Check(error.error().status == 400);
    Check(Json::parse(DumpJson(ErrorBody(error.error())))["error"]["message"] == message);
  }
}

void CheckGeneration(const GenerationFields& fields) {
  Check(fields.n >= 1 && fields.n <= kMaxChoices);
  Check(fields.stop.size() <= kMaxStops);
  for (const std::string& stop : fields.stop) {
    Check(!stop.empty() && stop.size() <= kMaxStopBytes);
  }
  Validate(SamplingOf(fields, {}, {}));
  for (const char c : WarningHeader(fields.unknown)) {
    Check(c >= 0x20 && c < 0x7f);
  }
}

void ReadChat(const Json& body) {
  const ChatRequest request = ReadChatRequest(body);
  CheckGeneration(request.generation);
  Check(NormalizeMessages(request.messages) == request.messages);
  const auto render = [](const Json& messages, const Json&, bool) {
    std::string text;
    for (const Json& message : messages) {
      text += message["content"].get_ref<const std::string&>() + "\n";
    }
    return text;
  };
  const ChatPrompt prompt = MakeChatPrompt(request, TemplateVariables(request, true), render);
  if (request.continues_last) {
    Check(prompt.text.ends_with(request.messages.back()["content"].get_ref<const std::string&>()));
  }
}

void ReadEverything(std::string_view bytes) {
  const Json body = ParseBody(bytes);
  Check(ParseBody(DumpJson(body)) == body);
  Try([&] { ReadChat(body); });
  Try([&] {
    const CompletionRequest request = ReadCompletionRequest(body);
    CheckGeneration(request.generation);
    Check(!request.prompts.empty());
    Check(request.prompts.size() * request.generation.n <= kMaxRequestAnswers);
  });
  Try([&] { ReadTokenizeRequest(body); });
  Try([&] { ReadDetokenizeRequest(body); });
}

}  // namespace
}  // namespace hearth::api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  hearth::api::Try([&] { hearth::api::ReadEverything(bytes); });
  return 0;
}
