// Streamed and whole answers, and that they are one.
#include "server/api/stream_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "server/api/discovery_body.h"
#include "server/api/sse.h"

namespace hearth::api {
namespace {

using Strings = std::vector<std::string>;

const AnswerHead kChat{
    .kind = AnswerKind::kChat, .id = "chatcmpl-1", .created = 5, .model = "m", .seed = 9
};
const AnswerHead kCompletion{
    .kind = AnswerKind::kCompletion, .id = "cmpl-1", .created = 5, .model = "m"
};

std::vector<SseParser::Event> EventsOf(const std::string& frames) {
  SseParser parser;
  std::vector<SseParser::Event> events = parser.Push(frames);
  EXPECT_EQ(parser.held_bytes(), 0u);
  return events;
}

TEST(StreamWriter, ChatChunks) {
  const StreamWriter writer(kChat, false);
  const std::string head =
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":5,"model":"m","system_fingerprint":null,)";
  EXPECT_EQ(
      writer.Start(0),
      head +
          R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"seed":9})"
          "\n\n"
  );
  EXPECT_EQ(
      writer.Delta(1, {.reasoning = "a", .content = "b"}),
      head +
          R"("choices":[{"index":1,"delta":{"reasoning_content":"a"},"logprobs":null,"finish_reason":null}]})"
          "\n\n" +
          head +
          R"("choices":[{"index":1,"delta":{"content":"b"},"logprobs":null,"finish_reason":null}]})"
          "\n\n"
  );
  EXPECT_EQ(writer.Delta(0, {}), "");
  EXPECT_EQ(
      writer.Finish(0, FinishReason::kLength),
      head + R"("choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]})"
             "\n\n"
  );
  EXPECT_EQ(writer.End({}), "data: [DONE]\n\n");
}

TEST(StreamWriter, CompletionChunks) {
  const StreamWriter writer(kCompletion, false);
  EXPECT_EQ(writer.Start(0), "");
  EXPECT_EQ(
      writer.Delta(0, {.content = "b"}),
      R"(data: {"id":"cmpl-1","object":"text_completion","created":5,"model":"m","system_fingerprint":null,)"
      R"("choices":[{"index":0,"text":"b","logprobs":null,"finish_reason":null}]})"
      "\n\n"
  );
  EXPECT_NE(
      writer.Finish(0, FinishReason::kStop)
          .find(R"("text":"","logprobs":null,"finish_reason":"stop")"),
      std::string::npos
  );
}

TEST(StreamWriter, Fault91_UsageComesInOneLastChunk) {
  const StreamWriter writer(kChat, true);
  const auto events = EventsOf(writer.End(
      {.prompt_tokens = 3, .cached_tokens = 2, .completion_tokens = 4, .reasoning_tokens = 1}
  ));
  ASSERT_EQ(events.size(), 2u);
  const Json chunk = Json::parse(events[0].data);
  EXPECT_EQ(chunk["choices"], Json::array());
  EXPECT_EQ(
      DumpJson(chunk["usage"]),
      R"({"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"prompt_tokens_details":{"cached_tokens":2},)"
      R"("completion_tokens_details":{"reasoning_tokens":1}})"
  );
  EXPECT_EQ(events[1].data, "[DONE]");
}

TEST(StreamWriter, Fault92_UsageIsNullOnTheOthersWhenAskedForAndAbsentWhenNot) {
  for (const AnswerHead& head : {kChat, kCompletion}) {
    for (const bool asked : {true, false}) {
      const StreamWriter writer(head, asked);
      const std::string frames = writer.Start(0) + writer.Delta(0, {.content = "a"}) +
                                 writer.Finish(0, FinishReason::kStop);
      for (const auto& event : EventsOf(frames)) {
        const Json chunk = Json::parse(event.data);
        EXPECT_EQ(chunk.contains("usage"), asked);
        EXPECT_TRUE(!asked || chunk["usage"].is_null());
      }
    }
  }
}

TEST(StreamWriter, AnErrorComesInBandAndEndsTheStream) {
  const auto events = EventsOf(StreamWriter(kChat, true).Fail(ErrorOf(500, "bad\nluck"), "r"));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(
      events[0].data,
      R"({"error":{"message":"bad luck","type":"server_error","param":null,"code":"internal_error","request_id":"r"}})"
  );
  EXPECT_EQ(events[1].data, "[DONE]");
}

std::string_view Bytes(TokenId id) {
  static const Strings bytes = {"a", "\xc3", "\xa9", "a"};
  return bytes[id];
}

TokenLogprobs Logprobs(float own, std::vector<TopLogprob> top) {
  return {.logprob = own, .top = std::move(top)};
}

TEST(LogprobsBody, ShapeOfChat) {
  const std::vector<LogprobEntry> entries = {
      {0, Logprobs(-0.1F, {{0, -0.1F}, {1, -2.5F}}), 0}, {1, Logprobs(-3, {}), 1}
  };
  EXPECT_EQ(
      DumpJson(ChatLogprobs(entries, Bytes)),
      R"({"content":[{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[)"
      R"({"token":"a","logprob":-0.1,"bytes":[97]},)"
      "{\"token\":\"\ufffd\",\"logprob\":-2.5,\"bytes\":[195]}]},"
      "{\"token\":\"\ufffd\",\"logprob\":-3.0,\"bytes\":[195],\"top_logprobs\":[]}],\"refusal\":"
      "null}"
  );
}

TEST(LogprobsBody, ShapeOfCompletions) {
  const std::vector<LogprobEntry> entries = {
      {0, std::nullopt, 0}, {1, Logprobs(-0.5F, {{1, -0.5F}, {0, -1}, {3, -2}}), 1}
  };
  EXPECT_EQ(
      DumpJson(CompletionLogprobs(entries, Bytes)),
      R"({"tokens":["a","bytes:\\xc3"],"token_logprobs":[null,-0.5],)"
      R"("top_logprobs":[null,{"bytes:\\xc3":-0.5,"a":-1.0}],"text_offset":[0,1]})"
  );
}

TEST(LogprobsBody, Fault43_MaskedTokensAreNoAlternatives) {
  const float none = -std::numeric_limits<float>::infinity();
  const std::vector<LogprobEntry> entries = {{0, Logprobs(none, {{0, -1}, {1, none}}), 0}};
  EXPECT_EQ(
      DumpJson(ChatLogprobs(entries, Bytes)["content"][0]),
      R"({"token":"a","logprob":-9999.0,"bytes":[97],"top_logprobs":[{"token":"a","logprob":-1.0,"bytes":[97]}]})"
  );
  EXPECT_EQ(DumpJson(CompletionLogprobs(entries, Bytes)["top_logprobs"]), R"([{"a":-1.0}])");
}

TEST(LogprobsBody, Fault44_NanNeverReachesABody) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<LogprobEntry> own = {{0, Logprobs(nan, {}), 0}};
  const std::vector<LogprobEntry> top = {{0, Logprobs(-1, {{1, nan}}), 0}};
  for (const auto& entries : {own, top}) {
    EXPECT_THROW(ChatLogprobs(entries, Bytes), Error);
    EXPECT_THROW(CompletionLogprobs(entries, Bytes), Error);
  }
}

TEST(AnswerBody, Chat) {
  const std::vector<ChoiceAnswer> choices = {
      {.text = {.reasoning = "r", .content = "c"}, .finish_reason = FinishReason::kStop},
      {.text = {.content = "\xff"}, .finish_reason = FinishReason::kLength}
  };
  EXPECT_EQ(
      DumpJson(AnswerBody(kChat, choices, {.prompt_tokens = 2, .completion_tokens = 3})),
      R"({"id":"chatcmpl-1","object":"chat.completion","created":5,"model":"m","system_fingerprint":null,"choices":[)"
      R"({"index":0,"message":{"role":"assistant","content":"c","refusal":null,"reasoning_content":"r"},"logprobs":null,"finish_reason":"stop"},)"
      "{\"index\":1,\"message\":{\"role\":\"assistant\",\"content\":\"\ufffd\",\"refusal\":null},"
      "\"logprobs\":null,\"finish_reason\":\"length\"}],"
      R"("usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5,"prompt_tokens_details":{"cached_tokens":0},)"
      R"("completion_tokens_details":{"reasoning_tokens":0}},"seed":9})"
  );
}

TEST(AnswerBody, Fault55_EveryChoiceHasItsIndex) {
  const Json body = AnswerBody(kCompletion, std::vector<ChoiceAnswer>(3), {.prompt_tokens = 7});
  ASSERT_EQ(body["choices"].size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 7);
  EXPECT_EQ(body["object"], "text_completion");
}

TEST(AnswerBody, Fault52_TheUsedSeedIsReported) {
  AnswerHead head = kCompletion;
  const std::vector<ChoiceAnswer> choices(1);
  EXPECT_FALSE(AnswerBody(head, choices, {}).contains("seed"));
  head.seed = ~std::uint64_t{0};
  EXPECT_EQ(AnswerBody(head, choices, {})["seed"], ~std::uint64_t{0});
  const StreamWriter writer(head, false);
  EXPECT_NE(
      writer.Finish(0, FinishReason::kStop).find(R"("seed":18446744073709551615)"),
      std::string::npos
  );
}

TEST(AnswerBody, TimingsAndIds) {
  GenerationMetrics one;
  one.prompt_tokens = 10;
  one.cached_prompt_tokens = 4;
  one.generated_tokens = 5;
  one.queue_seconds = 0.5;
  one.prefill_seconds = 2;
  one.decode_seconds = 0.25;
  GenerationMetrics other = one;
  other.decode_seconds = 0.5;
  EXPECT_EQ(
      DumpJson(TimingsBody(std::vector<GenerationMetrics>{one, other})),
      R"({"queue_ms":500.0,"cache_n":4,"prompt_n":6,"prompt_ms":2000.0,"prompt_per_token_ms":333.3333333333333,)"
      R"("prompt_per_second":3.0,"predicted_n":10,"predicted_ms":500.0,"predicted_per_token_ms":50.0,)"
      R"("predicted_per_second":20.0})"
  );
  EXPECT_EQ(
      DumpJson(TimingsBody(std::vector<GenerationMetrics>{{}})).find("null"), std::string::npos
  );
  EXPECT_EQ(AnswerId(AnswerKind::kChat, 1, 255), "chatcmpl-000000000000000100000000000000ff");
  EXPECT_EQ(AnswerId(AnswerKind::kCompletion, 0, 0), "cmpl-" + std::string(32, '0'));
}

TEST(Discovery, Bodies) {
  const ModelCard card{.id = "m", .created = 1, .context_length = 2048};
  const Json list = ModelListBody(std::vector<ModelCard>{card});
  EXPECT_EQ(list["object"], "list");
  EXPECT_EQ(list["data"][0], ModelBody(card));
  EXPECT_EQ(list["data"][0]["id"], "m");
  EXPECT_EQ(list["data"][0]["context_window"], 2048);
  EXPECT_EQ(DumpJson(HealthBody(Health::kOk)), R"({"status":"ok"})");
  EXPECT_EQ(HealthBody(Health::kLoading)["error"]["message"], "server: loading");
  EXPECT_EQ(HealthStatus(Health::kOk), 200);
  EXPECT_EQ(HealthStatus(Health::kDraining), 503);
  EXPECT_EQ(
      DumpJson(IndexBody("1", "m", Strings{"/v1/models"})),
      R"({"name":"hearth","version":"1","model":"m","endpoints":["/v1/models"]})"
  );
}

// What a client puts together from the events of a stream.
struct Received {
  std::map<std::size_t, Json> choices;  // as they stand in a whole answer
  int done = 0;
  int usages = 0;
};

void Receive(const SseParser::Event& event, bool chat, Received& received) {
  if (event.data == "[DONE]") {
    ++received.done;
    return;
  }
  const Json chunk = Json::parse(event.data);
  if (chunk["choices"].empty()) {
    ++received.usages;
    return;
  }
  const Json& part = chunk["choices"][0];
  Json& whole = received.choices[part["index"].get<std::size_t>()];
  if (whole.is_null()) {
    whole = {{"text", ""}, {"reasoning", ""}, {"logprobs", Json::array()}};
    EXPECT_TRUE(!chat || part["delta"]["role"] == "assistant") << "the first delta has the role";
  }
  EXPECT_FALSE(whole.contains("finish_reason")) << "nothing follows the finish";
  const auto append = [&](const char* field, const std::string& text) {
    whole[field] = whole[field].get<std::string>() + text;
  };
  append("text", chat ? part["delta"].value("content", "") : part["text"].get<std::string>());
  append("reasoning", chat ? part["delta"].value("reasoning_content", "") : "");
  if (!part["logprobs"].is_null()) {
    for (const Json& entry : part["logprobs"][chat ? "content" : "token_logprobs"]) {
      whole["logprobs"].push_back(entry);
    }
  }
  if (!part["finish_reason"].is_null()) {
    whole["finish_reason"] = part["finish_reason"];
  }
}

TEST(StreamWriter, JoinedDeltasEqualTheWholeAnswer) {
  std::mt19937 random(23);  // NOLINT(bugprone-random-generator-seed): the same run each time
  const Strings vocabulary = {
      "<think>",
      "</th",
      "ink>",
      " ",
      "\n",
      "a",
      "ab\r\n",
      "\xf0\x9f",
      "\x98\x80",
      "\xc3",
      "",
      "\"\\",
      "b",
      ":"
  };
  const TokenBytes bytes_of = [&](TokenId id) -> std::string_view { return vocabulary[id]; };
  for (int round = 0; round < 500; ++round) {
    AnswerHead head = random() % 2 == 0 ? kChat : kCompletion;
    const bool chat = head.kind == AnswerKind::kChat;
    ChoiceTextOptions options{.logprobs = random() % 2 == 0};
    if (chat && random() % 3 != 0) {
      options.reasoning = ReasoningMarkers{};
    }
    if (random() % 2 == 0) {
      options.stop = {"ab", "b:b"};
    }
    const bool include_usage = random() % 2 == 0;
    const TokenBytes logprob_bytes = options.logprobs ? bytes_of : TokenBytes{};
    const StreamWriter writer(head, include_usage, logprob_bytes);
    const std::size_t n = 1 + random() % 3;
    std::vector<ChoiceText> texts(n, ChoiceText(options));
    std::vector<ChoiceAnswer> answers(n);
    std::string frames;
    for (std::size_t i = 0; i < n; ++i) {
      frames += writer.Start(i);
    }
    for (std::size_t step = random() % 60; step-- > 0;) {
      const std::size_t i = random() % n;
      const auto id = static_cast<TokenId>(random() % vocabulary.size());
      const float logprob = -static_cast<float>(random() % 1000) / 128;
      const ChoiceDelta delta =
          texts[i].Push(id, vocabulary[id], Logprobs(logprob, {{id, logprob}}));
      frames += writer.Delta(i, delta) + (random() % 8 == 0 ? SseComment("wait") : "");
      answers[i].text.Append(delta);
    }
    for (std::size_t i = 0; i < n; ++i) {
      const ChoiceDelta delta =
          texts[i].Finish(random() % 2 == 0 ? FinishReason::kStop : FinishReason::kLength);
      frames += writer.Delta(i, delta) + writer.Finish(i, texts[i].finish_reason());
      answers[i].text.Append(delta);
      answers[i].finish_reason = texts[i].finish_reason();
    }
    frames += writer.End({});

    SseParser parser;
    Received received;
    for (std::size_t at = 0; at < frames.size(); at += 7) {
      for (const auto& event : parser.Push(std::string_view(frames).substr(at, 7))) {
        Receive(event, chat, received);
      }
    }
    EXPECT_EQ(received.done, 1);
    EXPECT_EQ(received.usages, include_usage ? 1 : 0);
    const Json whole = Json::parse(DumpJson(AnswerBody(head, answers, {}, {}, logprob_bytes)));
    for (std::size_t i = 0; i < n; ++i) {
      const Json& choice = whole["choices"][i];
      Json wanted = {
          {"text", chat ? choice["message"]["content"] : choice["text"]},
          {"reasoning", chat ? choice["message"].value("reasoning_content", "") : ""},
          {"logprobs", Json::array()},
          {"finish_reason", choice["finish_reason"]}
      };
      if (options.logprobs) {
        wanted["logprobs"] = choice["logprobs"][chat ? "content" : "token_logprobs"];
      }
      // A completion that said nothing at all has only its finish.
      ASSERT_EQ(received.choices[i], wanted) << frames;
    }
  }
}

}  // namespace
}  // namespace hearth::api
