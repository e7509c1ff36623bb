#include "text/reasoning_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hearth {
namespace {

using Strings = std::vector<std::string>;

SplitText Split(const Strings& pieces, bool opened = false) {
  ReasoningParser parser(opened);
  SplitText result;
  for (const std::string& piece : pieces) {
    parser.Push(piece, result);
  }
  parser.Finish(result);
  EXPECT_EQ(parser.held_bytes(), 0u);
  return result;
}

TEST(ReasoningParser, SplitsABlockFromTheAnswer) {
  EXPECT_EQ(Split({"<think>\nHm.\n</think>\n\nYes."}), (SplitText{"Hm.", "Yes."}));
  EXPECT_EQ(Split({"Hm.\n</think>\n\nYes.\n"}, true), (SplitText{"Hm.", "Yes.\n"}));
  EXPECT_EQ(Split({"\n<think></think>Yes."}), (SplitText{"", "Yes."}));
}

TEST(ReasoningParser, AnAnswerWithoutThinkingStaysAsItIs) {
  for (const char* text :
       {"", " ", "\n\nYes. ", "<", "<thin", "<thinking>x", "a <think>b</think>"}) {
    EXPECT_EQ(Split({text}), (SplitText{"", text})) << text;
  }
}

TEST(ReasoningParser, AnAnswerMaySpeakOfMarkers) {
  EXPECT_EQ(
      Split({"<think>a</think>`<think>` opens and `</think>` closes."}),
      (SplitText{"a", "`<think>` opens and `</think>` closes."})
  );
}

TEST(ReasoningParser, BlocksMayFollowEachOther) {
  EXPECT_EQ(Split({"<think>a</think>\n<think>b</think>c"}), (SplitText{"ab", "c"}));
}

TEST(ReasoningParser, AModelMayRepeatTheMarkerOfItsPrompt) {
  EXPECT_EQ(Split({"<think>\na</think>b"}, true), (SplitText{"a", "b"}));
  EXPECT_EQ(Split({"<think><think>a</think>b"}, true), (SplitText{"<think>a", "b"}));
  EXPECT_EQ(Split({"<think><think>a</think>b"}), (SplitText{"<think>a", "b"}));
}

TEST(ReasoningParser, Fault41_UnfinishedThinkingIsReasoning) {
  EXPECT_EQ(Split({"<think>so far "}), (SplitText{"so far ", ""}));
  EXPECT_EQ(Split({"so far </thi"}, true), (SplitText{"so far </thi", ""}));
  EXPECT_EQ(Split({"<think>  "}), (SplitText{"", ""}));
}

TEST(ReasoningParser, SaysWhereItIs) {
  ReasoningParser parser;
  SplitText out;
  parser.Push(" ", out);
  EXPECT_FALSE(parser.in_reasoning() || parser.in_content());
  parser.Push("<think>", out);
  EXPECT_TRUE(parser.in_reasoning());
  parser.Push("a\n</", out);
  EXPECT_EQ(out.reasoning, "a");
  EXPECT_EQ(parser.held_bytes(), 3u);
  parser.Push("think>", out);
  EXPECT_FALSE(parser.in_reasoning());
  EXPECT_EQ(parser.closed_blocks(), 1u);
  parser.Push("\nb", out);
  EXPECT_TRUE(parser.in_content());
  EXPECT_EQ(out, (SplitText{"a", "b"}));
}

TEST(ReasoningParser, OtherMarkers) {
  ReasoningParser parser(false, {"[THINK]", "[/THINK]"});
  SplitText out;
  parser.Push("[THINK]a[/THINK]b", out);
  parser.Finish(out);
  EXPECT_EQ(out, (SplitText{"a", "b"}));
}

TEST(ReasoningParser, Fault11_MarkersThatAreCutAnywhere) {
  for (const std::string text :
       {" <think>\na </thin </think> \n <think>b</think>\nc </think> <think>d",
        "<think>a</think><thi",
        "</think>a",
        "\n \n<think>"}) {
    for (const bool opened : {false, true}) {
      const SplitText whole = Split({text}, opened);
      for (std::size_t first = 0; first <= text.size(); ++first) {
        for (std::size_t second = first; second <= text.size(); ++second) {
          const Strings pieces = {
              text.substr(0, first), text.substr(first, second - first), text.substr(second)
          };
          ASSERT_EQ(Split(pieces, opened), whole) << text << " cut at " << first << ", " << second;
        }
      }
      Strings bytes;
      for (const char byte : text) {
        bytes.emplace_back(1, byte);
      }
      ASSERT_EQ(Split(bytes, opened), whole) << text;
    }
  }
}

TEST(ReasoningParser, RandomTextsAndCuts) {
  std::mt19937 random(5);  // NOLINT(bugprone-random-generator-seed): the same run each time
  const Strings parts = {"<think>", "</think>", "<", "</thi", " ", "\n", "a", "nk>", "\u00e9"};
  int with_both = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::size_t i = random() % 8; i-- > 0;) {
      text += parts[random() % parts.size()];
    }
    const bool opened = random() % 2 == 0;
    const SplitText whole = Split({text}, opened);
    with_both += !whole.reasoning.empty() && !whole.content.empty() ? 1 : 0;
    Strings pieces;
    for (std::size_t at = 0; at < text.size();) {
      pieces.push_back(text.substr(at, 1 + random() % 4));
      at += pieces.back().size();
    }
    ASSERT_EQ(Split(pieces, opened), whole) << text;
  }
  EXPECT_GT(with_both, 100);
}

TEST(ReasoningParser, SeesThinkingThatThePromptOpens) {
  EXPECT_TRUE(OpensThinking("<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(OpensThinking("<|im_start|>assistant\n<think>\n\n</think>\n\n"));
  EXPECT_FALSE(OpensThinking("<|im_start|>user\n<think><|im_end|>\n<|im_start|>assistant\n"));
  EXPECT_FALSE(OpensThinking(""));
}

}  // namespace
}  // namespace hearth
