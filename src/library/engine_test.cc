#include "hearth/engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "hearth/blocking.h"
#include "hearth/error.h"
#include "support/expect_error.h"
#include "support/tiny_file.h"

namespace hearth {
namespace {

class EngineTest : public testing::Test {
 protected:
  EngineOptions Options(const TinyFileOptions& file = {}) {
    path_ = std::filesystem::path(testing::TempDir()) /
            (std::string("engine_test_") +
             testing::UnitTest::GetInstance()->current_test_info()->name() + ".gguf");
    WriteTinyModel(path_, file);
    EngineOptions options;
    options.model = path_.string();
    options.threads = 2;
    return options;
  }

  ~EngineTest() override {
    if (!path_.empty()) {
      std::filesystem::remove(path_);
    }
  }

  std::filesystem::path path_;
};

// The answer of a request, its stop tokens aside: a random model rarely says one.
std::vector<TokenId> TokensOf(Engine& engine, GenerationRequest request) {
  std::vector<TokenId> tokens;
  blocking::Answer answer(engine, std::move(request));
  for (const CommittedTokens& committed : answer) {
    tokens.insert(tokens.end(), committed.token_ids.begin(), committed.token_ids.end());
  }
  blocking::Completed(answer.Outcome());
  return tokens;
}

TEST_F(EngineTest, SaysWhatItsModelIs) {
  const Engine engine(Options());
  EXPECT_EQ(engine.model().family, "llama");
  EXPECT_EQ(engine.model().vocabulary, 261u);
  EXPECT_EQ(engine.model().context_length, 1024u);
  EXPECT_EQ(engine.model().threads, 2);
  EXPECT_GT(engine.model().load_seconds, 0);
}

TEST_F(EngineTest, TextToTokensAndBack) {
  const Engine engine(Options());
  const ModelText& text = engine.text();
  EXPECT_EQ(text.stop_tokens(), std::vector<TokenId>{kTinyEnd});
  EXPECT_EQ(text.Tokenize("ab").size(), 2u);
  EXPECT_EQ(text.Detokenize(text.Tokenize("a whale")), "a whale");
  EXPECT_EQ(text.Tokenize("<|end|>", {.parse_special = true}), std::vector<TokenId>{kTinyEnd});
  EXPECT_EQ(text.TokenBytes(kTinyUser), "<|user|>");
  EXPECT_EQ(text.RenderChat({{"user", "hi"}}), "<|user|>hi<|end|><|assistant|>");
  const std::vector<TokenId> prompt = text.ChatPrompt({{"user", "hi"}});
  ASSERT_EQ(prompt.size(), 5u);
  EXPECT_EQ(prompt.front(), kTinyUser);
  EXPECT_EQ(prompt.back(), kTinyAssistant);
  EXPECT_EQ(ModelText::Open(path_.string()).ChatPrompt({{"user", "hi"}}), prompt);
}

TEST_F(EngineTest, AStreamOfTextHoldsItsVocabulary) {
  TextStream stream = [&] {
    const ModelText text = ModelText::Open(Options().model);
    return text.Stream();
  }();
  // The two bytes of one character.
  EXPECT_EQ(stream.Push(std::vector<TokenId>{0xc3}), "");
  EXPECT_EQ(stream.Push(0xa4), "ä");
  EXPECT_EQ(stream.Push(kTinyEnd), "");
  EXPECT_EQ(stream.Push(0xc3), "");
  EXPECT_EQ(stream.Finish(), "\uFFFD");
}

TEST_F(EngineTest, AnAnswerIsTheSameAsTokensAsTextAndAsked) {
  Engine engine(Options());
  const blocking::AskOptions options{.sampling = {.temperature = 1, .seed = 7}, .max_tokens = 40};
  GenerationRequest request =
      engine.MakeRequest(engine.text().ChatPrompt({{"user", "Tell."}}), options.sampling);
  request.max_tokens = 40;
  EXPECT_EQ(request.stop_tokens, std::vector<TokenId>{kTinyEnd});
  const std::vector<TokenId> tokens = TokensOf(engine, request);
  EXPECT_GT(tokens.size(), 0u);

  std::string pieces;
  const std::string asked =
      blocking::Ask(engine, {{"user", "Tell."}}, options, [&](std::string_view piece) {
        EXPECT_FALSE(piece.empty());
        pieces += piece;
        return true;
      });
  EXPECT_EQ(asked, engine.text().Detokenize(tokens));
  EXPECT_EQ(pieces, asked);
}

TEST_F(EngineTest, SeedsOfARequest) {
  const Engine engine(Options());
  const auto seed = [&](std::optional<std::uint64_t> given, std::uint32_t choice) {
    SamplingParameters sampling;
    sampling.seed = given;
    return engine.MakeRequest({1}, sampling, choice).seed;
  };
  EXPECT_EQ(seed(7, 0), seed(7, 0));
  EXPECT_NE(seed(7, 0), seed(7, 1));
  EXPECT_NE(seed(7, 0), seed(8, 0));
  EXPECT_NE(seed({}, 0), seed({}, 0));
}

TEST_F(EngineTest, ManyThreadsAskAtOnceAndEachGetsItsOwnAnswer) {
  Engine engine(Options());
  const auto ask = [&](std::uint64_t seed) {
    GenerationRequest request = engine.MakeRequest(
        engine.text().Tokenize("question " + std::to_string(seed)), {.temperature = 1, .seed = seed}
    );
    request.max_tokens = 30;
    return TokensOf(engine, std::move(request));
  };
  std::vector<std::vector<TokenId>> alone;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    alone.push_back(ask(seed));
  }
  std::vector<std::vector<TokenId>> together(6);
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    threads.emplace_back([&, seed] { together[seed] = ask(seed); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(together, alone);
}

TEST_F(EngineTest, AnAnswerIsCancelledFromAnotherThread) {
  Engine engine(Options());
  GenerationRequest request = engine.MakeRequest({1, 2, 3});
  request.max_tokens = 1000;
  request.stop_tokens.clear();
  blocking::Answer answer(engine, std::move(request));
  ASSERT_TRUE(answer.NextTokens());
  std::thread other([&] { answer.Cancel(); });
  while (answer.NextTokens()) {
  }
  other.join();
  const GenerationOutcome outcome = answer.Outcome();
  EXPECT_EQ(std::get<GenerationOutcome::Cancelled>(outcome.end).reason, CancelReason::kRequested);
  ExpectError([&] { blocking::Completed(outcome); }, ErrorCode::kCancelled, "requested");
}

TEST_F(EngineTest, AskStopsWhenThePieceSaysSo) {
  Engine engine(Options());
  int pieces = 0;
  blocking::Ask(engine, {{"user", "Tell."}}, {.max_tokens = 900}, [&](std::string_view) {
    return ++pieces < 3;
  });
  EXPECT_LE(pieces, 3);
  engine.Close();
  EXPECT_EQ(engine.Gauges().sessions, 0u);
}

TEST_F(EngineTest, ClosedIsClosed) {
  Engine engine(Options());
  GenerationRequest request = engine.MakeRequest({1, 2, 3});
  request.max_tokens = 1000;
  request.stop_tokens.clear();
  blocking::Answer answer(engine, request);
  ASSERT_TRUE(answer.NextTokens());
  engine.Close();
  engine.Close();
  EXPECT_EQ(
      std::get<GenerationOutcome::Cancelled>(answer.Outcome().end).reason,
      CancelReason::kEngineClosed
  );
  ExpectError([&] { blocking::Open(engine, request); }, ErrorCode::kCancelled, "closed");
  EXPECT_EQ(engine.Gauges().pages_used, 0u);
}

TEST_F(EngineTest, AModelWithoutTextAnswersTokens) {
  Engine engine(Options({.chat_template = false, .vocabulary = false}));
  EXPECT_THROW(engine.text(), Error);
  GenerationRequest request = engine.MakeRequest({1, 2, 3});
  request.max_tokens = 5;
  EXPECT_EQ(TokensOf(engine, request).size(), 5u);
}

TEST_F(EngineTest, AModelWithoutATemplateHasNoChat) {
  Engine engine(Options({.chat_template = false}));
  EXPECT_EQ(engine.text().Tokenize("ab").size(), 2u);
  ExpectError(
      [&] { blocking::Ask(engine, {{"user", "hi"}}); }, ErrorCode::kNotFound, "chat template"
  );
}

TEST_F(EngineTest, WhatCannotWorkIsRefused) {
  EngineOptions options = Options();
  options.batch = 0;
  ExpectError([&] { Engine engine(options); }, ErrorCode::kInvalidArgument, "batch");
  options.batch = 1;
  options.isa = "mmx";
  ExpectError([&] { Engine engine(options); }, ErrorCode::kInvalidArgument, "mmx");
  ExpectError([&] { Engine engine({.model = "nowhere"}); }, ErrorCode::kNotFound, "nowhere");

  options.isa = "";
  Engine engine(options);
  ExpectError(
      [&] { blocking::Open(engine, engine.MakeRequest({261})); }, ErrorCode::kInvalidArgument, "261"
  );
  ExpectError(
      [&] { blocking::Open(engine, engine.MakeRequest(std::vector<TokenId>(1024, 1))); },
      ErrorCode::kResourceExhausted,
      "1024"
  );
}

}  // namespace
}  // namespace hearth
