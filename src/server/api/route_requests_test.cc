// The requests of each route: chat, completions, tokenize.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/api/api_error.h"
#include "server/api/chat_request.h"
#include "server/api/completion_request.h"
#include "server/api/text_requests.h"

namespace hearth::api {
namespace {

template <class Call>
ApiError RefusalOf(Call call) {
  try {
    call();
  } catch (const RequestError& error) {
    return error.error();
  }
  ApiError accepted;
  accepted.status = 0;
  return accepted;
}

ChatRequest Chat(const std::string& messages, const std::string& members = "") {
  return ReadChatRequest(
      ParseBody(R"({"messages": )" + messages + (members.empty() ? "" : ", " + members) + "}")
  );
}

ApiError ChatRefusal(const std::string& messages, const std::string& members = "") {
  return RefusalOf([&] { Chat(messages, members); });
}

const std::string kHello = R"([{"role": "user", "content": "hello"}])";

TEST(ChatRequest, MessagesAreBroughtIntoOneForm) {
  const ChatRequest request = Chat(R"([
    {"role": "developer", "content": "be kind"},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}], "name": "ann"},
    {"role": "assistant", "content": null, "reasoning": "hm", "refusal": null, "tool_calls": [
      {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"z\": 1, \"a\": [2]}"}},
      {"id": "c2", "type": "function", "function": {"name": "g", "arguments": "not json"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "21"},
    {"role": "user", "content": "more"}])");
  EXPECT_EQ(
      DumpJson(request.messages),
      R"([{"role":"system","content":"be kind"},)"
      R"({"role":"user","content":"ab","name":"ann"},)"
      R"({"role":"assistant","content":"","tool_calls":[)"
      R"({"id":"c1","type":"function","function":{"name":"f","arguments":{"z":1,"a":[2]}}},)"
      R"({"id":"c2","type":"function","function":{"name":"g","arguments":"not json"}}],)"
      R"("reasoning_content":"hm"},)"
      R"({"role":"tool","content":"21","tool_call_id":"c1"},)"
      R"({"role":"user","content":"more"}])"
  );
  EXPECT_FALSE(request.continues_last);
}

TEST(ChatRequest, Fault25_ToolCallIdMayBeNull) {
  const ChatRequest request = Chat(R"([{"role": "tool", "tool_call_id": null, "content": "21"}])");
  EXPECT_EQ(DumpJson(request.messages), R"([{"role":"tool","content":"21"}])");
}

TEST(ChatRequest, WhatWeSayWeAcceptBack) {
  const ChatRequest request = Chat(
      R"([{"role": "user", "content": "a"},
    {"role": "assistant", "content": "b", "refusal": null, "reasoning_content": "c"}, {"role": "user", "content": "d"}])"
  );
  EXPECT_EQ(
      DumpJson(request.messages[1]), R"({"role":"assistant","content":"b","reasoning_content":"c"})"
  );
}

TEST(ChatRequest, MessagesThatDoNotFitAreNamed) {
  const std::vector<std::vector<std::string>> cases = {
      {"[]", "messages"},
      {"null", "messages"},
      {"\"hello\"", "messages"},
      {"[1]", "messages[0]"},
      {R"([{"content": "a"}])", "messages[0].role"},
      {R"([{"role": "function", "name": "f", "content": "a"}])", "messages[0].role"},
      {R"([{"role": "user"}])", "messages[0].content"},
      {R"([{"role": "user", "content": null}])", "messages[0].content"},
      {R"([{"role": "user", "content": 5}])", "messages[0].content"},
      {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])",
       "messages[0].content[0].type"},
      {R"([{"role": "user", "content": [{"type": "input_audio"}]}])",
       "messages[0].content[0].type"},
      {R"([{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text"},
      {R"([{"role": "user", "content": [{"text": "a"}]}])", "messages[0].content[0].type"},
      {R"([{"role": "user", "content": "a", "name": 1}])", "messages[0].name"},
      {R"([{"role": "tool", "content": "a", "tool_call_id": 1}])", "messages[0].tool_call_id"},
      {R"([{"role": "assistant", "tool_calls": [{"id": "a"}]}])",
       "messages[0].tool_calls[0].function"},
      {R"([{"role": "assistant", "tool_calls": {}}])", "messages[0].tool_calls"},
      {R"([{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}])", "messages[0]"},
      {R"([{"role": "assistant", "content": "", "reasoning": "hm"}])", "messages[0]"},
  };
  for (const auto& wanted : cases) {
    const ApiError error = ChatRefusal(wanted[0]);
    EXPECT_EQ(error.status, 400) << wanted[0];
    EXPECT_EQ(error.param, wanted[1]) << wanted[0] << " " << error.message;
    EXPECT_EQ(error.message.find(wanted[1] + ": "), 0u) << error.message;
  }
}

TEST(ChatRequest, ArgumentsAreBoundedTogether) {
  const auto with_calls = [](std::size_t calls) {
    const std::string arguments = R"({\"a\": \")" + std::string(1u << 20, 'x') + R"(\"})";
    std::string list;
    for (std::size_t i = 0; i < calls; ++i) {
      list += std::string(i == 0 ? "" : ",") + R"({"function": {"name": "f", "arguments": ")" +
              arguments + "\"}}";
    }
    return R"([{"role": "assistant", "tool_calls": [)" + list +
           R"(]}, {"role": "user", "content": "a"}])";
  };
  EXPECT_EQ(ChatRefusal(with_calls(3)).status, 0);
  EXPECT_EQ(ChatRefusal(with_calls(4)).param, "messages[0].tool_calls[3].function.arguments");
}

TEST(ChatRequest, LimitsOfTokensAndLogprobs) {
  EXPECT_EQ(Chat(kHello).generation.max_tokens, std::nullopt);
  EXPECT_EQ(Chat(kHello, R"("max_tokens": 5)").generation.max_tokens, 5u);
  EXPECT_EQ(
      Chat(kHello, R"("max_tokens": 5, "max_completion_tokens": 7)").generation.max_tokens, 7u
  );
  EXPECT_EQ(Chat(kHello, R"("max_tokens": -1)").generation.max_tokens, std::nullopt);
  EXPECT_EQ(ChatRefusal(kHello, R"("max_tokens": 0)").param, "max_tokens");
  EXPECT_EQ(ChatRefusal(kHello, R"("max_tokens": 2000000000)").param, "max_tokens");
  EXPECT_EQ(Chat(kHello).generation.top_logprobs, std::nullopt);
  EXPECT_EQ(Chat(kHello, R"("logprobs": true)").generation.top_logprobs, 0u);
  EXPECT_EQ(Chat(kHello, R"("logprobs": true, "top_logprobs": 20)").generation.top_logprobs, 20u);
  EXPECT_EQ(
      Chat(kHello, R"("logprobs": false, "top_logprobs": -1)").generation.top_logprobs, std::nullopt
  );
  EXPECT_EQ(ChatRefusal(kHello, R"("top_logprobs": 5)").param, "top_logprobs");
  EXPECT_EQ(ChatRefusal(kHello, R"("logprobs": true, "top_logprobs": 21)").param, "top_logprobs");
  EXPECT_EQ(ChatRefusal(kHello, R"("logprobs": 5)").param, "logprobs");
}

TEST(ChatRequest, WhoDecidesAboutThinking) {
  const auto variables = [](const std::string& members, std::optional<bool> flag) {
    return DumpJson(TemplateVariables(Chat(kHello, members), flag));
  };
  EXPECT_EQ(variables("", std::nullopt), "{}");
  EXPECT_EQ(variables("", true), R"({"enable_thinking":true})");
  EXPECT_EQ(
      variables(R"("reasoning_effort": "none")", true),
      R"({"reasoning_effort":"none","enable_thinking":false})"
  );
  EXPECT_EQ(
      variables(R"("reasoning_effort": "low")", false),
      R"({"reasoning_effort":"low","enable_thinking":true})"
  );
  EXPECT_EQ(
      variables(
          R"("reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": false, "x": 1})",
          true
      ),
      R"({"enable_thinking":false,"x":1,"reasoning_effort":"low"})"
  );
  EXPECT_EQ(variables(R"("chat_template_kwargs": {"enable_thinking": null})", true), "{}");
  EXPECT_EQ(ChatRefusal(kHello, R"("reasoning_effort": "much")").param, "reasoning_effort");
  EXPECT_EQ(ChatRefusal(kHello, R"("chat_template_kwargs": [])").param, "chat_template_kwargs");
}

// Trims contents, as many templates do.
std::string Render(const Json& messages, const Json& variables, bool generation_prompt) {
  std::string text;
  for (const Json& message : messages) {
    auto content = message["content"].get<std::string>();
    content.erase(content.find_last_not_of(' ') + 1);
    text += "<" + message["role"].get<std::string>() + ">" + content + "</>\n";
  }
  return text + (generation_prompt ? "<assistant>" : "") + variables.value("tail", "");
}

TEST(ChatRequest, ALastAssistantMessageIsContinued) {
  const ChatRequest request =
      Chat(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "Sure, "}])");
  EXPECT_TRUE(request.continues_last);
  EXPECT_EQ(
      MakeChatPrompt(request, Json::object(), Render),
      (ChatPrompt{"<user>a</>\n<assistant>Sure, ", false})
  );
  const ChatRequest thinking = Chat(R"([{"role": "assistant", "content": "<think>so"}])");
  EXPECT_EQ(
      MakeChatPrompt(thinking, Json::object(), Render), (ChatPrompt{"<assistant><think>so", true})
  );
  EXPECT_EQ(
      RefusalOf([&] {
        MakeChatPrompt(request, Json::object(), [](const Json&, const Json&, bool) {
          return "nothing of it";
        });
      }).param,
      "messages[1]"
  );
}

TEST(ChatRequest, WithoutALastAssistantMessageTheAnswerBegins) {
  EXPECT_EQ(
      MakeChatPrompt(Chat(kHello), Json::object(), Render),
      (ChatPrompt{"<user>hello</>\n<assistant>", false})
  );
  EXPECT_EQ(
      MakeChatPrompt(Chat(kHello), {{"tail", "<think>\n"}}, Render),
      (ChatPrompt{"<user>hello</>\n<assistant><think>\n", true})
  );
  const ChatRequest empty =
      Chat(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}])");
  EXPECT_EQ(MakeChatPrompt(empty, Json::object(), Render).text, "<user>a</>\n<assistant>");
  const ChatRequest closed = Chat(
      R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])",
      R"("continue_final_message": false)"
  );
  EXPECT_EQ(
      MakeChatPrompt(closed, Json::object(), Render).text,
      "<user>a</>\n<assistant>b</>\n<assistant>"
  );
}

TEST(ChatRequest, UnknownFieldsAreCollected) {
  EXPECT_EQ(
      Chat(kHello, R"("verbosity": "low", "mirostat": 2)").generation.unknown,
      (std::vector<std::string>{"verbosity", "mirostat"})
  );
  EXPECT_TRUE(Chat(kHello, R"("verbosity": "medium")").generation.unknown.empty());
}

CompletionRequest Completion(const std::string& members) {
  return ReadCompletionRequest(ParseBody("{" + members + "}"));
}

TEST(CompletionRequest, PromptsOfEveryShape) {
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(Completion(R"("prompt": "a")").prompts, (std::vector<PromptInput>{"a"}));
  EXPECT_EQ(Completion(R"("prompt": "")").prompts, (std::vector<PromptInput>{""}));
  EXPECT_EQ(Completion(R"("prompt": ["a", "b"])").prompts, (std::vector<PromptInput>{"a", "b"}));
  EXPECT_EQ(Completion(R"("prompt": [1, 2])").prompts, (std::vector<PromptInput>{Ids{1, 2}}));
  EXPECT_EQ(
      Completion(R"("prompt": [[1, 2], [3]])").prompts,
      (std::vector<PromptInput>{Ids{1, 2}, Ids{3}})
  );
  for (const auto& [members, param] : std::vector<std::pair<std::string, std::string>>{
           {R"("max_tokens": 1)", "prompt"},
           {R"("prompt": null)", "prompt"},
           {R"("prompt": [])", "prompt"},
           {R"("prompt": [[]])", "prompt[0]"},
           {R"("prompt": 5)", "prompt"},
           {R"("prompt": [1, -2])", "prompt[1]"},
           {R"("prompt": [1, 4294967296])", "prompt[1]"},
           {R"("prompt": [1, "a"])", "prompt[1]"},
           {R"("prompt": ["a", 1])", "prompt[1]"},
           {R"("prompt": [["a"]])", "prompt[0][0]"},
       }) {
    EXPECT_EQ(RefusalOf([&, m = members] { Completion(m); }).param, param) << members;
  }
}

TEST(CompletionRequest, ItsOwnFields) {
  const CompletionRequest request = Completion(
      R"("prompt": "a", "max_tokens": 0, "echo": true, "logprobs": 3, "best_of": 1, "suffix": "")"
  );
  EXPECT_EQ(request.generation.max_tokens, 0u);
  EXPECT_TRUE(request.echo);
  EXPECT_EQ(request.generation.top_logprobs, 3u);
  EXPECT_TRUE(request.generation.unknown.empty());
  EXPECT_EQ(Completion(R"("prompt": "a", "logprobs": true)").generation.top_logprobs, 0u);
  EXPECT_EQ(Completion(R"("prompt": "a", "logprobs": -1)").generation.top_logprobs, std::nullopt);
  for (const auto& [members, param] : std::vector<std::pair<std::string, std::string>>{
           {R"("suffix": "x")", "suffix"},
           {R"("best_of": 2)", "best_of"},
           {R"("logprobs": 21)", "logprobs"},
           {R"("echo": 1)", "echo"},
           {R"("max_tokens": 1.5)", "max_tokens"},
       }) {
    EXPECT_EQ(RefusalOf([&, m = members] { Completion(R"("prompt": "a", )" + m); }).param, param);
  }
  std::string many = "\"a\"";
  for (int i = 0; i < 511; ++i) {
    many += ",\"a\"";
  }
  EXPECT_EQ(Completion("\"n\": 2, \"prompt\": [" + many + "]").prompts.size(), 512u);
  EXPECT_EQ(RefusalOf([&] { Completion("\"n\": 3, \"prompt\": [" + many + "]"); }).param, "n");
}

TokenizeRequest ReadTokenize(const std::string& body) {
  return ReadTokenizeRequest(ParseBody(body));
}

TEST(TokenizeRequest, BothSpellings) {
  const TokenizeRequest llama = ReadTokenize(R"({"content": "a", "with_pieces": true})");
  EXPECT_EQ(llama.text, "a");
  EXPECT_FALSE(llama.add_special);
  EXPECT_TRUE(llama.parse_special && llama.with_pieces);
  const TokenizeRequest vllm = ReadTokenize(R"({"model": "m", "prompt": "a"})");
  EXPECT_TRUE(vllm.add_special);
  EXPECT_FALSE(vllm.with_pieces);
  EXPECT_FALSE(ReadTokenize(R"({"prompt": "a", "add_special_tokens": false})").add_special);
  EXPECT_TRUE(ReadTokenize(R"({"messages": [{"role": "user", "content": "a"}]})").chat.has_value());
  EXPECT_EQ(RefusalOf([] { ReadTokenize("{}"); }).param, "content");
  EXPECT_EQ(RefusalOf([] { ReadTokenize(R"({"content": "a", "prompt": "b"})"); }).param, "content");
  EXPECT_EQ(ReadTokenize(R"({"content": "a", "foo": 1})").unknown, std::vector<std::string>{"foo"});
}

TEST(TokenizeRequest, Bodies) {
  const TokenBytes bytes = [](TokenId id) -> std::string_view { return id == 0 ? "a" : "\xc3"; };
  const std::vector<TokenId> ids = {0, 1};
  EXPECT_EQ(
      DumpJson(TokenizeBody(ids, 99, false, bytes)),
      R"({"tokens":[0,1],"count":2,"max_model_len":99})"
  );
  EXPECT_EQ(
      DumpJson(TokenizeBody(ids, 99, true, bytes)),
      R"({"tokens":[{"id":0,"piece":"a"},{"id":1,"piece":[195]}],"count":2,"max_model_len":99,)"
      "\"token_strs\":[\"a\",\"\ufffd\"]}"
  );
  EXPECT_EQ(ReadDetokenizeRequest(ParseBody(R"({"tokens": [0, 1]})")), ids);
  EXPECT_EQ(RefusalOf([] { ReadDetokenizeRequest(ParseBody("{}")); }).param, "tokens");
  EXPECT_EQ(DumpJson(DetokenizeBody("x")), R"({"content":"x","prompt":"x"})");
  EXPECT_EQ(
      DumpJson(RenderBody({"p", true}, ids)),
      R"({"prompt":"p","token_ids":[0,1],"count":2,"opens_thinking":true})"
  );
}

}  // namespace
}  // namespace hearth::api
