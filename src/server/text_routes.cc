#include "server/text_routes.h"

#include <optional>

#include "hearth/engine.h"
#include "library/text_parts.h"
#include "server/api/text_requests.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

api::TokenBytes BytesOf(const ModelText& text) {
  return [text](TokenId token) { return text.TokenBytes(token); };
}

api::ChatPrompt RenderPrompt(
    const ModelText& text, const api::ChatRequest& request, std::optional<bool> thinking
) {
  const ChatTemplate& made = text.parts().Template();
  api::ChatPrompt prompt = api::MakeChatPrompt(
      request,
      api::TemplateVariables(request, thinking),
      [&](const api::Json& messages, const api::Json& variables, bool generation) {
        return made.Render(messages, nullptr, variables, {.add_generation_prompt = generation});
      }
  );
  if (prompt.text.empty()) {
    throw Error(ErrorCode::kCorruptData, "chat template: it made an empty prompt");
  }
  return prompt;
}

}  // namespace

void AddWarning(HttpHeaders& headers, const std::vector<std::string>& unknown) {
  if (std::string warning = api::WarningHeader(unknown); !warning.empty()) {
    headers.Add("Warning", std::move(warning));
  }
}

ChatTokens TokensOfChat(
    const ModelText& text, const api::ChatRequest& request, std::optional<bool> thinking
) {
  ChatTokens result;
  result.prompt = RenderPrompt(text, request, thinking);
  // The template writes the special tokens itself.
  result.tokens = text.Tokenize(result.prompt.text, {.parse_special = true});
  return result;
}

awaitable<void> AnswerTokenize(RouteContext context, HttpExchange& exchange) {
  Engine& engine = context.model.RequireEngine();
  const std::string body = std::move(exchange.request().body);
  HttpHeaders headers;
  std::function<api::Json()> work = [&] {
    const api::TokenizeRequest request = api::ReadTokenizeRequest(api::ParseBody(body));
    AddWarning(headers, request.unknown);
    std::string text = request.text;
    if (request.chat) {
      text = RenderPrompt(engine.text(), *request.chat, context.options.thinking).text;
    }
    const std::vector<TokenId> tokens = engine.text().Tokenize(
        text, {.add_special = request.add_special, .parse_special = request.parse_special}
    );
    return api::TokenizeBody(
        tokens, engine.model().context_length, request.with_pieces, BytesOf(engine.text())
    );
  };
  awaitable<api::Json> working = OnTextPool<api::Json>(context, std::move(work));
  const api::Json answer = co_await std::move(working);
  awaitable<void> responding = RespondJson(exchange, 200, answer, headers);
  co_await std::move(responding);
}

awaitable<void> AnswerDetokenize(RouteContext context, HttpExchange& exchange) {
  Engine& engine = context.model.RequireEngine();
  const std::string body = std::move(exchange.request().body);
  std::function<api::Json()> work = [&] {
    const std::vector<TokenId> tokens = api::ReadDetokenizeRequest(api::ParseBody(body));
    return api::DetokenizeBody(engine.text().Detokenize(tokens));
  };
  awaitable<api::Json> working = OnTextPool<api::Json>(context, std::move(work));
  const api::Json answer = co_await std::move(working);
  awaitable<void> responding = RespondJson(exchange, 200, answer);
  co_await std::move(responding);
}

awaitable<void> AnswerRender(RouteContext context, HttpExchange& exchange) {
  Engine& engine = context.model.RequireEngine();
  const std::string body = std::move(exchange.request().body);
  HttpHeaders headers;
  std::function<api::Json()> work = [&] {
    const api::ChatRequest request = api::ReadChatRequest(api::ParseBody(body));
    AddWarning(headers, request.generation.unknown);
    const ChatTokens made = TokensOfChat(engine.text(), request, context.options.thinking);
    return api::RenderBody(made.prompt, made.tokens);
  };
  awaitable<api::Json> working = OnTextPool<api::Json>(context, std::move(work));
  const api::Json answer = co_await std::move(working);
  awaitable<void> responding = RespondJson(exchange, 200, answer, headers);
  co_await std::move(responding);
}

}  // namespace hearth
