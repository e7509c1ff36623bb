#include "server/api/text_requests.h"

#include <utility>

#include "server/api/api_error.h"
#include "server/api/completion_request.h"
#include "server/api/object_reader.h"
#include "text/utf8_stream.h"

namespace hearth::api {
namespace {

std::string TextOf(std::string_view bytes) {
  std::string text;
  Utf8Stream stream;
  stream.Push(bytes, text);
  stream.Finish(text);
  return text;
}

Json Piece(std::string_view bytes) {
  std::string text = TextOf(bytes);
  if (text == bytes) {
    return text;
  }
  Json codes = Json::array();
  for (const char byte : bytes) {
    codes.push_back(static_cast<unsigned char>(byte));
  }
  return codes;
}

bool Either(ObjectReader& reader, const char* one, const char* other, bool otherwise) {
  const std::optional<bool> first = reader.Bool(one);
  const std::optional<bool> second = reader.Bool(other);
  return first ? *first : second.value_or(otherwise);
}

}  // namespace

TokenizeRequest ReadTokenizeRequest(const Json& body) {
  ObjectReader reader(body);
  TokenizeRequest request;
  const auto content = reader.String("content");
  const auto prompt = reader.String("prompt");
  const bool chat = reader.Find("messages") != nullptr;
  if ((content ? 1 : 0) + (prompt ? 1 : 0) + (chat ? 1 : 0) != 1) {
    throw RequestError(
        InvalidRequest("content: wanted exactly one of content, prompt and messages", "content")
    );
  }
  request.add_special = Either(reader, "add_special", "add_special_tokens", prompt.has_value());
  request.parse_special = reader.Bool("parse_special").value_or(true);
  request.with_pieces = Either(reader, "with_pieces", "return_token_strs", false);
  if (chat) {
    request.chat = ReadChatRequest(body);
    return request;
  }
  request.text = content ? *content : *prompt;
  reader.IgnoreString("model");
  request.unknown = reader.Unknown();
  return request;
}

std::vector<TokenId> ReadDetokenizeRequest(const Json& body) {
  ObjectReader reader(body);
  const Json* tokens = reader.Find("tokens");
  return ReadTokenIds(tokens != nullptr ? *tokens : Json(), "tokens");
}

Json TokenizeBody(
    std::span<const TokenId> tokens,
    std::uint64_t context_length,
    bool with_pieces,
    const TokenBytes& bytes_of
) {
  Json items = Json::array();
  Json texts = Json::array();
  for (const TokenId id : tokens) {
    if (with_pieces) {
      items.push_back({{"id", id}, {"piece", Piece(bytes_of(id))}});
      texts.push_back(TextOf(bytes_of(id)));
    } else {
      items.push_back(id);
    }
  }
  Json body = {
      {"tokens", std::move(items)}, {"count", tokens.size()}, {"max_model_len", context_length}
  };
  if (with_pieces) {
    body["token_strs"] = std::move(texts);
  }
  return body;
}

Json DetokenizeBody(const std::string& text) {
  return {{"content", text}, {"prompt", text}};
}

Json RenderBody(const ChatPrompt& prompt, std::span<const TokenId> tokens) {
  Json ids = Json::array();
  for (const TokenId id : tokens) {
    ids.push_back(id);
  }
  return {
      {"prompt", prompt.text},
      {"token_ids", std::move(ids)},
      {"count", tokens.size()},
      {"opens_thinking", prompt.opens_thinking}
  };
}

}  // namespace hearth::api
