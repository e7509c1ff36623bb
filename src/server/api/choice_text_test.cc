#include "server/api/choice_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth::api {
namespace {

using Strings = std::vector<std::string>;

struct Answer {
  ChoiceDelta text;
  FinishReason reason = FinishReason::kStop;
  std::uint64_t tokens = 0;
  std::uint64_t reasoning_tokens = 0;
};

// Runs tokens 0, 1, 2, ... with these bytes.
Answer Generate(
    const Strings& tokens, const ChoiceTextOptions& options, FinishReason end = FinishReason::kStop
) {
  ChoiceText choice(options);
  Answer answer;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    answer.text.Append(
        choice.Push(static_cast<TokenId>(i), tokens[i], TokenLogprobs{.logprob = -1.0F, .top = {}})
    );
  }
  answer.text.Append(choice.Finish(end));
  answer.reason = choice.finish_reason();
  answer.tokens = choice.completion_tokens();
  answer.reasoning_tokens = choice.reasoning_tokens();
  return answer;
}

std::vector<TokenId> IdsOf(const Answer& answer) {
  std::vector<TokenId> ids;
  for (const LogprobEntry& entry : answer.text.logprobs) {
    ids.push_back(entry.id);
  }
  return ids;
}

const ChoiceTextOptions kThinking{.reasoning = ReasoningMarkers{}};

TEST(ChoiceText, Fault01_CharactersThatSpanTokens) {
  ChoiceText choice({});
  EXPECT_EQ(choice.Push(0, "a\xf0\x9f").content, "a");
  EXPECT_EQ(choice.Push(1, "\x98").content, "");
  EXPECT_EQ(choice.Push(2, "\x80!").content, "\U0001f600!");
}

TEST(ChoiceText, Fault04_AnEndInsideACharacter) {
  const Answer answer = Generate({"a", "\xf0\x9f"}, {}, FinishReason::kLength);
  EXPECT_EQ(answer.text.content, "a\ufffd");
  EXPECT_EQ(answer.reason, FinishReason::kLength);
}

TEST(ChoiceText, Fault08_StopStringThatSpansTokens) {
  const Answer answer = Generate(
      {"alpha ", "beta", " ga", "mma", " delta"}, {.stop = {"beta gamma"}}, FinishReason::kLength
  );
  EXPECT_EQ(answer.text.content, "alpha ");
  EXPECT_EQ(answer.reason, FinishReason::kStop);
  EXPECT_EQ(answer.tokens, 4u);  // the last did not count any more
}

TEST(ChoiceText, Fault10_HeldTextGoesThroughTheParserToo) {
  const ChoiceTextOptions options{
      .stop = {"</think> and much more"}, .reasoning = ReasoningMarkers{}
  };
  const Answer answer = Generate({"<think>", "a", "</th", "ink>"}, options, FinishReason::kLength);
  EXPECT_EQ(answer.text.reasoning, "a");
  EXPECT_EQ(answer.text.content, "");
}

TEST(ChoiceText, Fault11_AStopThatNeverMatchesChangesNothing) {
  ChoiceTextOptions with_stop = kThinking;
  with_stop.stop = {"xyzxyz", "</think>x", "<"};
  const Strings tokens = {"<thi", "nk>", "a <b", "</", "think>\n", "x", "y", "z"};
  EXPECT_EQ(Generate(tokens, with_stop).text, Generate(tokens, kThinking).text);
}

TEST(ChoiceText, Fault13_HeldTextComesBeforeTheEnd) {
  EXPECT_EQ(
      Generate({"one", " tw"}, {.stop = {" two"}}, FinishReason::kLength).text.content, "one tw"
  );
}

TEST(ChoiceText, Fault14_StopStringsMatchVisibleContentOnly) {
  ChoiceTextOptions options = kThinking;
  options.stop = {"\n", "END"};
  const Answer answer =
      Generate({"<think>", "a\nEND", "</think>", "\n\n", "b", "END", "c"}, options);
  EXPECT_EQ(answer.text.reasoning, "a\nEND");
  EXPECT_EQ(answer.text.content, "b");
}

TEST(ChoiceText, Fault40_AFinishedAnswerHasContent) {
  ChoiceTextOptions opened = kThinking;
  opened.opens_thinking = true;
  const Answer unclosed = Generate({"Yes", ".\n"}, opened);
  EXPECT_EQ(unclosed.text.reasoning, "Yes.\n");
  EXPECT_EQ(unclosed.text.content, "Yes.\n");
  EXPECT_EQ(unclosed.reason, FinishReason::kStop);

  const Answer silent = Generate({"Yes", "</think>", "\n"}, opened);
  EXPECT_EQ(silent.text.reasoning, "Yes");
  EXPECT_EQ(silent.text.content, "Yes");

  opened.stop = {"s."};
  EXPECT_EQ(Generate({"Yes", "."}, opened).text.content, "Ye");

  // A stop string may leave nothing: that is what was asked for.
  EXPECT_EQ(Generate({"a</think>", "s.b"}, opened).text.content, "");
}

TEST(ChoiceText, Fault41_ThinkingThatMaxTokensEnds) {
  const Answer answer = Generate({"<think>", "so", " far"}, kThinking, FinishReason::kLength);
  EXPECT_EQ(answer.text.reasoning, "so far");
  EXPECT_EQ(answer.text.content, "");
  EXPECT_EQ(answer.reason, FinishReason::kLength);
}

TEST(ChoiceText, CountsTokensOfThinking) {
  const Strings tokens = {"\n", "<thi", "nk>", "a", "</think>", "\n\n", "b", "c"};
  EXPECT_EQ(Generate(tokens, kThinking).reasoning_tokens, 5u);
  EXPECT_EQ(Generate(tokens, {}).reasoning_tokens, 0u);
  EXPECT_EQ(Generate({"<think>a", "</think>b", "c"}, kThinking).reasoning_tokens, 2u);
  EXPECT_EQ(Generate({"<thi", "s", "c"}, kThinking).reasoning_tokens, 0u);
  EXPECT_EQ(Generate({"<think>", "a", " "}, kThinking).reasoning_tokens, 3u);
}

TEST(ChoiceText, LogprobsComeWithTheirText) {
  ChoiceText choice({.stop = {"bcd"}, .logprobs = true});
  EXPECT_EQ(choice.Push(0, "a").logprobs.size(), 1u);
  EXPECT_TRUE(choice.Push(1, "b").empty());
  EXPECT_TRUE(choice.Push(2, "c").empty());
  const ChoiceDelta delta = choice.Push(3, "x");
  EXPECT_EQ(delta.content, "bcx");
  ASSERT_EQ(delta.logprobs.size(), 3u);
  EXPECT_EQ(delta.logprobs[2].id, 3u);
  EXPECT_EQ(delta.logprobs[2].text_offset, 3u);
}

TEST(ChoiceText, LogprobsOfTheStopAreLeftOut) {
  ChoiceTextOptions options{.stop = {"cd"}, .logprobs = true};
  EXPECT_EQ(IdsOf(Generate({"a", "bc", "d", "e"}, options)), (std::vector<TokenId>{0, 1}));
  EXPECT_EQ(IdsOf(Generate({"a", "b", "c", "d"}, options)), (std::vector<TokenId>{0, 1}));
  options.reasoning = ReasoningMarkers{};
  EXPECT_EQ(
      IdsOf(Generate({"<think>", "cd", "</think>", "\n", "a", "c", "d"}, options)),
      (std::vector<TokenId>{0, 1, 2, 3, 4})
  );
}

TEST(ChoiceText, EveryTokenHasItsLogprobsWithoutAStop) {
  const ChoiceTextOptions options{.reasoning = ReasoningMarkers{}, .logprobs = true};
  const Answer answer =
      Generate({"<think>", "", "\xc3", "\xa9", "</think>", "a", "", "\xc3"}, options);
  EXPECT_EQ(IdsOf(answer), (std::vector<TokenId>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(answer.text.logprobs[3].text_offset, 7u);
  EXPECT_EQ(answer.text.logprobs[4].text_offset, 8u);
}

TEST(ChoiceText, EchoComesFirstAndMatchesNothing) {
  ChoiceText choice({.stop = {"b"}, .logprobs = true});
  ChoiceDelta all = choice.Echo(7, "ab");
  all.Append(choice.Echo(8, "\u00e9"));
  EXPECT_EQ(all.content, "ab\u00e9");
  EXPECT_EQ(all.logprobs.size(), 2u);
  all.Append(choice.Push(0, "cb"));
  all.Append(choice.Finish(FinishReason::kLength));
  EXPECT_EQ(all.content, "ab\u00e9c");
  ASSERT_EQ(all.logprobs.size(), 3u);
  EXPECT_EQ(all.logprobs[2].text_offset, 3u);
  EXPECT_EQ(choice.completion_tokens(), 1u);
}

TEST(ChoiceText, RefusesAnEmptyStop) {
  EXPECT_THROW(ChoiceText({.stop = {""}}), Error);
}

// The same bytes in other tokens give the same answer, and deltas that are valid UTF-8.
TEST(ChoiceText, AnswersDoNotDependOnTheCut) {
  std::mt19937 random(11);  // NOLINT(bugprone-random-generator-seed): the same run each time
  const Strings parts = {
      "<think>",
      "</think>",
      "<",
      "</thi",
      " ",
      "\n",
      "a",
      "ab",
      "b",
      "\xc3",
      "\xa9",
      "nk>",
      "\U0001f600"
  };
  const Strings stops = {"ab", "a\u00e9", "b\n", "</", "\ufffd", "aa a"};
  int stopped = 0;
  int reasoned = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bytes;
    for (std::size_t i = random() % 12; i-- > 0;) {
      bytes += parts[random() % parts.size()];
    }
    ChoiceTextOptions options{.logprobs = true};
    for (std::size_t i = random() % 3; i-- > 0;) {
      options.stop.push_back(stops[random() % stops.size()]);
    }
    if (random() % 4 != 0) {
      options.reasoning = ReasoningMarkers{};
      options.opens_thinking = random() % 2 == 0;
    }
    const FinishReason end = random() % 2 == 0 ? FinishReason::kStop : FinishReason::kLength;
    Strings tokens;
    for (std::size_t at = 0; at < bytes.size();) {
      tokens.push_back(bytes.substr(at, random() % 4));
      at += tokens.back().size();
    }
    const Answer whole = Generate({bytes}, options, end);
    const Answer pieces = Generate(tokens, options, end);
    ASSERT_EQ(pieces.text.content, whole.text.content) << testing::PrintToString(bytes);
    ASSERT_EQ(pieces.text.reasoning, whole.text.reasoning) << testing::PrintToString(bytes);
    ASSERT_EQ(pieces.reason, whole.reason);
    const std::vector<TokenId> ids = IdsOf(pieces);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(ids[i], i);
    }
    ASSERT_LE(pieces.reasoning_tokens, pieces.tokens);
    const bool was_cut = pieces.text.logprobs.size() < tokens.size();
    ASSERT_TRUE(!was_cut || pieces.reason == FinishReason::kStop);
    stopped += was_cut ? 1 : 0;
    reasoned += !whole.text.reasoning.empty() && !whole.text.content.empty() ? 1 : 0;
  }
  EXPECT_GT(stopped, 300);
  EXPECT_GT(reasoned, 300);
}

}  // namespace
}  // namespace hearth::api
