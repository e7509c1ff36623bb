// The server over sockets, on a tiny model: what clients get, streamed and not, and what becomes of those who leave.
#include "server/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "hearth/error.h"
#include "server/api/json_body.h"
#include "server/api/sse.h"
#include "support/raw_http_client.h"
#include "support/tiny_file.h"

namespace hearth {
namespace {

using api::Json;
using std::chrono::milliseconds;

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string("server_test_") +
             testing::UnitTest::GetInstance()->current_test_info()->name() + ".gguf");
    WriteTinyModel(path_);
    options_.engine.model = path_.string();
    options_.engine.threads = 1;
    options_.port = 0;
    options_.sampling.temperature = 0;
  }

  ~ServerTest() override {
    if (server_) {
      server_->BeginStop();
      thread_.join();
    }
    std::filesystem::remove(path_);
  }

  void Start() {
    server_ = std::make_unique<Server>(options_);
    const std::string url = server_->url();
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    std::atomic<bool> ready{false};
    thread_ = std::thread([&] { server_->Run([&] { ready = true; }); });
    while (!ready) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  static std::string PostText(const std::string& path, const Json& body) {
    const std::string text = api::DumpJson(body);
    return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
           "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  }

  RawHttpResponse Ask(const std::string& bytes) {
    RawHttpClient client(port_);
    client.Send(bytes);
    const std::optional<RawHttpResponse> response = client.ReadResponse();
    EXPECT_TRUE(response && response->complete);
    return response.value_or(RawHttpResponse{});
  }

  RawHttpResponse Post(const std::string& path, const Json& body) {
    return Ask(PostText(path, body));
  }

  Json PostJson(const std::string& path, const Json& body, int status = 200) {
    const RawHttpResponse response = Post(path, body);
    EXPECT_EQ(response.status, status) << response.body;
    return Json::parse(response.body);
  }

  RawHttpResponse Get(const std::string& path) {
    return Ask("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }

  // Waits until nothing runs, and says whether that came about.
  bool Quiet() {
    for (int i = 0; i < 500; ++i) {
      const Json requests = Json::parse(Get("/stats").body)["requests"];
      if (requests["open"] == 0 && requests["active"] == 0) {
        return true;
      }
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }

  static Json Chat(std::uint64_t max_tokens = 40) {
    return {{"messages", {{{"role", "user"}, {"content", "Count."}}}}, {"max_tokens", max_tokens}};
  }

  ServerOptions options_;
  std::filesystem::path path_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
  std::uint16_t port_ = 0;
};

// Content, finish reasons and usage of a streamed answer.
struct Streamed {
  std::vector<std::string> content;
  std::vector<std::string> finish;
  Json usage;
  Json error;
  bool done = false;
};

Streamed ReadStream(const std::string& body, std::size_t choices, const char* field) {
  Streamed streamed;
  streamed.content.resize(choices);
  streamed.finish.resize(choices);
  api::SseParser parser;
  for (const api::SseParser::Event& event : parser.Push(body)) {
    if (event.data == "[DONE]") {
      streamed.done = true;
      continue;
    }
    const Json chunk = Json::parse(event.data);
    if (chunk.contains("error")) {
      streamed.error = chunk["error"];
      continue;
    }
    if (chunk.contains("usage") && !chunk["usage"].is_null()) {
      streamed.usage = chunk["usage"];
    }
    for (const Json& choice : chunk["choices"]) {
      const auto index = choice["index"].get<std::size_t>();
      const Json& holder = choice.contains("delta") ? choice["delta"] : choice;
      if (holder.contains(field) && holder[field].is_string()) {
        streamed.content[index] += holder[field].get<std::string>();
      }
      if (choice["finish_reason"].is_string()) {
        streamed.finish[index] = choice["finish_reason"].get<std::string>();
      }
    }
  }
  return streamed;
}

TEST_F(ServerTest, JoinedDeltasAreTheWholeAnswer) {
  Start();
  Json request = Chat();
  request["n"] = 3;
  request["seed"] = 7;
  request["temperature"] = 1;
  const Json whole = PostJson("/v1/chat/completions", request);
  request["stream"] = true;
  request["stream_options"] = {{"include_usage", true}};
  const RawHttpResponse response = Post("/v1/chat/completions", request);
  EXPECT_TRUE(response.chunked);
  EXPECT_EQ(response.Header("Content-Type"), "text/event-stream; charset=utf-8");
  const Streamed streamed = ReadStream(response.body, 3, "content");
  EXPECT_TRUE(streamed.done);
  ASSERT_EQ(whole["choices"].size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(streamed.content[i], whole["choices"][i]["message"]["content"]);
    EXPECT_EQ(streamed.finish[i], whole["choices"][i]["finish_reason"]);
  }
  EXPECT_EQ(streamed.usage["completion_tokens"], whole["usage"]["completion_tokens"]);
  EXPECT_EQ(streamed.usage["prompt_tokens"], whole["usage"]["prompt_tokens"]);
  EXPECT_NE(streamed.content[0], streamed.content[1]) << "each choice draws on its own";
}

TEST_F(ServerTest, AStopStringEndsTheAnswerBeforeIt) {
  Start();
  const Json whole = PostJson("/v1/completions", {{"prompt", "abc"}, {"max_tokens", 60}});
  const std::string text = whole["choices"][0]["text"];
  ASSERT_GT(text.size(), 12u);
  // From the middle of the answer, so that it spans tokens; cut between characters of ASCII.
  std::size_t at = 4;
  while (at + 4 < text.size() && (static_cast<unsigned char>(text[at]) >= 0x80 ||
                                  static_cast<unsigned char>(text[at + 3]) >= 0x80)) {
    ++at;
  }
  const std::string stop = text.substr(at, 3);
  const Json cut = PostJson(
      "/v1/completions", {{"prompt", "abc"}, {"max_tokens", 60}, {"stop", stop}, {"echo", false}}
  );
  EXPECT_EQ(cut["choices"][0]["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(Quiet());
}

TEST_F(ServerTest, EchoesAndScoresAPromptWithoutAnswering) {
  Start();
  const Json body = PostJson(
      "/v1/completions",
      {{"prompt", {"abc", "abd"}}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 2}}
  );
  ASSERT_EQ(body["choices"].size(), 2u);
  EXPECT_EQ(body["choices"][1]["text"], "abd");
  const Json& logprobs = body["choices"][1]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json({"a", "b", "d"}));
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_LT(logprobs["token_logprobs"][2].get<double>(), 0);
  EXPECT_EQ(body["choices"][0]["logprobs"]["token_logprobs"][1], logprobs["token_logprobs"][1]);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
}

TEST_F(ServerTest, AClientThatLeavesFreesItsRow) {
  Start();
  Json request = Chat(900);
  request["stream"] = true;
  for (const bool reset : {false, true}) {
    RawHttpClient client(port_);
    client.Send(PostText("/v1/chat/completions", request));
    EXPECT_NE(client.ReadSome(), "");
    reset ? client.Reset() : client.Close();
    EXPECT_TRUE(Quiet());
  }
  // One that waits for a whole answer leaves too.
  RawHttpClient client(port_);
  client.Send(PostText("/v1/chat/completions", Chat(900)));
  std::this_thread::sleep_for(milliseconds(30));
  client.Close();
  EXPECT_TRUE(Quiet());
}

// Closing the sending side counts as leaving. Who still reads is told so, in either way of answering.
TEST_F(ServerTest, HalfAnAnswerNeverLooksWhole) {
  Start();
  Json request = Chat(900);
  for (const bool streams : {false, true}) {
    request["stream"] = streams;
    RawHttpClient client(port_);
    client.Send(PostText("/v1/chat/completions", request));
    if (streams) {
      EXPECT_NE(client.ReadSome(), "");
    } else {
      std::this_thread::sleep_for(milliseconds(30));
    }
    client.CloseWriting();
    std::string rest;
    for (std::string some = client.ReadSome(); !some.empty(); some = client.ReadSome()) {
      rest += some;
    }
    EXPECT_NE(rest.find("the client has gone"), std::string::npos) << rest;
  }
  EXPECT_TRUE(Quiet());
}

// Its rows wait without computing, others are answered, and when it has taken nothing for long its rows are taken away.
TEST_F(ServerTest, AClientThatNeverReadsStopsNobody) {
  options_.engine.idle_timeout = milliseconds(500);
  Start();
  // More than the buffers of the system and of the server hold.
  Json request = {
      {"prompt", "Count."},
      {"max_tokens", 900},
      {"n", 16},
      {"logprobs", 20},
      {"stream", true},
      {"seed", 1},
      {"temperature", 1}
  };
  RawHttpClient client(port_);
  client.ShrinkReceiveBuffer();
  client.Send(PostText("/v1/completions", request));
  bool parked = false;
  for (int i = 0; i < 2000 && !parked; ++i) {
    parked = Json::parse(Get("/stats").body)["requests"]["parked"] > 0;
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(parked);
  EXPECT_EQ(Post("/v1/chat/completions", Chat(5)).status, 200);
  EXPECT_TRUE(Quiet()) << "the connection is still open, and its write not timed out";
}

TEST_F(ServerTest, RefusesMoreThanBatchAndQueueHold) {
  options_.engine.batch = 1;
  options_.engine.queue = 0;
  Start();
  Json request = Chat(900);
  request["stream"] = true;
  RawHttpClient first(port_);
  first.Send(PostText("/v1/chat/completions", request));
  EXPECT_NE(first.ReadSome(), "");
  const RawHttpResponse refused = Post("/v1/chat/completions", Chat(4));
  EXPECT_EQ(refused.status, 429);
  EXPECT_NE(refused.Header("Retry-After"), "");
  first.Close();
  EXPECT_TRUE(Quiet());
  // More choices than places run one after another.
  request = Chat(4);
  request["n"] = 5;
  EXPECT_EQ(PostJson("/v1/chat/completions", request)["choices"].size(), 5u);
}

TEST_F(ServerTest, RefusesWhatDoesNotFitWithBothNumbers) {
  Start();
  const Json body =
      PostJson("/v1/completions", {{"prompt", std::string(2000, 'a')}, {"max_tokens", 4}}, 400);
  EXPECT_EQ(body["error"]["code"], "context_length_exceeded");
  const std::string message = body["error"]["message"];
  EXPECT_NE(message.find("2000"), std::string::npos);
  EXPECT_NE(message.find("1024"), std::string::npos);
  // To the last token of the window.
  const Json full =
      PostJson("/v1/completions", {{"prompt", std::string(1023, 'a')}, {"max_tokens", 50}});
  EXPECT_EQ(full["usage"]["completion_tokens"], 1);
  EXPECT_EQ(full["choices"][0]["finish_reason"], "length");
}

TEST_F(ServerTest, NamesWhatItIgnoresAndWhatItCannotDo) {
  Start();
  Json request = Chat(2);
  request["frobnicate"] = 1;
  request["tools"] = Json::array();
  const RawHttpResponse response = Post("/v1/chat/completions", request);
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.Header("Warning").find("frobnicate"), std::string::npos);
  request["response_format"] = {{"type", "json_object"}};
  EXPECT_EQ(PostJson("/v1/chat/completions", request, 400)["error"]["param"], "response_format");
  EXPECT_EQ(Get("/nowhere").status, 404);
  EXPECT_EQ(Get("/tokenize").status, 405);
  EXPECT_EQ(Get("/tokenize").Header("Allow"), "POST");
}

TEST_F(ServerTest, RunningAnswersFinishWhenItStops) {
  Start();
  Json request = Chat(200);
  request["stream"] = true;
  RawHttpClient client(port_);
  client.Send(PostText("/v1/chat/completions", request));
  EXPECT_NE(client.ReadSome(), "");
  server_->BeginStop();
  std::string rest;
  for (std::string some = client.ReadSome(); !some.empty(); some = client.ReadSome()) {
    rest += some;
  }
  EXPECT_NE(rest.find("[DONE]"), std::string::npos);
  thread_.join();
  server_.reset();
}

TEST_F(ServerTest, CountsForPrometheus) {
  Start();
  PostJson("/v1/chat/completions", Chat(5));
  ASSERT_TRUE(Quiet());
  const std::string text = Get("/metrics").body;
  for (const char* line :
       {"hearth_generated_tokens_total 5",
        "hearth_first_token_seconds_count{",
        "vllm:num_requests_running{",
        "hearth_http_answers_total{path=\"/v1/chat/completions\",status=\"200\"} 1",
        "hearth_requests_ended_total{reason=\"length\"} 1"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST_F(ServerTest, APortThatIsTakenIsSaidBeforeAnythingIsLoaded) {
  Start();
  ServerOptions second = options_;
  second.port = port_;
  try {
    const Server server(second);
    FAIL() << "took it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hearth
