#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/expect_error.h"
#include "support/tiny_vocabulary.h"
#include "text/pre_tokenizer.h"

namespace hearth {
namespace {

using Ids = std::vector<TokenId>;

// "hello" with and without a space before it, "er", and entries of every special kind.
class TokenizerTest : public testing::Test {
 protected:
  TokenizerTest() {
    vocabulary_.Merge("h", "e");
    vocabulary_.Merge("l", "l");
    vocabulary_.Merge("he", "ll");
    hello_ = vocabulary_.Merge("hell", "o");
    space_hello_ = vocabulary_.Merge(" ", "hello");
    start_ = vocabulary_.Add("<|im_start|>", TokenKind::kControl);
    end_ = vocabulary_.Add("<|im_end|>", TokenKind::kNormal);  // as some files have it
    think_ = vocabulary_.Add("<think>", TokenKind::kUserDefined);
    two_spaces_ = vocabulary_.Add("  ", TokenKind::kUserDefined);
    unused_ = vocabulary_.Add("[PAD]", TokenKind::kUnused);
  }

  Tokenizer Make() const { return Tokenizer(vocabulary_.description); }

  TinyVocabulary vocabulary_;
  TokenId hello_, space_hello_, start_, end_, think_, two_spaces_, unused_;
};

TEST_F(TokenizerTest, MergesApplyInOrderOfRank) {
  const Tokenizer tokenizer = Make();
  EXPECT_EQ(tokenizer.Encode("hello hello"), (Ids{hello_, space_hello_}));
  EXPECT_EQ(tokenizer.Encode("helo"), (Ids{256, 'l', 'o'}));
  EXPECT_EQ(tokenizer.Encode(""), Ids{});
  EXPECT_EQ(tokenizer.Decode(Ids{hello_, space_hello_}), "hello hello");
}

TEST_F(TokenizerTest, SpecialTextIsParsedOnlyWhenAsked) {
  const Tokenizer tokenizer = Make();
  const std::string text = "<|im_start|>hello<|im_end|>";
  EXPECT_EQ(tokenizer.Encode(text, {.parse_special = true}), (Ids{start_, hello_, end_}));
  const Ids plain = tokenizer.Encode(text);
  EXPECT_EQ(plain.size(), 12u + 1 + 10);
  EXPECT_EQ(tokenizer.Decode(plain), text);
  EXPECT_EQ(tokenizer.Decode(Ids{start_, hello_, end_}), text);
  EXPECT_EQ(tokenizer.Decode(Ids{start_, hello_, end_}, {.skip_special = true}), "hello");
}

TEST_F(TokenizerTest, UserDefinedEntriesAreAlwaysFound) {
  const Tokenizer tokenizer = Make();
  // The word after it starts a text of its own: no space belongs to it.
  EXPECT_EQ(tokenizer.Encode("<think>hello"), (Ids{think_, hello_}));
  EXPECT_EQ(tokenizer.Encode("<think> hello"), (Ids{think_, space_hello_}));
  EXPECT_EQ(tokenizer.Encode("   hello"), (Ids{two_spaces_, space_hello_}));
  EXPECT_EQ(tokenizer.Decode(Ids{think_, hello_}, {.skip_special = true}), "<think>hello");
  EXPECT_EQ(tokenizer.Encode("[PAD]").size(), 5u) << "an unused entry is not looked for";
}

TEST_F(TokenizerTest, AddSpecialFollowsTheFileElseThePreTokenizer) {
  vocabulary_.description.bos = start_;
  vocabulary_.description.eos = end_;
  EXPECT_EQ(Make().Encode("hello", {.add_special = true}), (Ids{hello_}));
  vocabulary_.description.add_bos = vocabulary_.description.add_eos = true;
  EXPECT_EQ(Make().Encode("hello", {.add_special = true}), (Ids{start_, hello_, end_}));
  EXPECT_EQ(Make().Encode("hello"), (Ids{hello_}));

  vocabulary_.description.pre = "llama-bpe";
  vocabulary_.description.add_bos = vocabulary_.description.add_eos = std::nullopt;
  EXPECT_EQ(Make().Encode("hello", {.add_special = true}), (Ids{start_, hello_}));
  vocabulary_.description.add_bos = false;
  EXPECT_EQ(Make().Encode("hello", {.add_special = true}), (Ids{hello_}));
}

TEST_F(TokenizerTest, IgnoredMergesTakeWholeWords) {
  const TokenId abc = vocabulary_.Add("abc", TokenKind::kNormal);
  EXPECT_EQ(Make().Encode("abc"), (Ids{'a', 'b', 'c'}));
  vocabulary_.description.pre = "llama-bpe";
  vocabulary_.description.add_bos = false;
  EXPECT_EQ(Make().Encode("abc"), (Ids{abc}));
}

TEST_F(TokenizerTest, SomeFamiliesNormalize) {
  const std::string composed = "\u00e9", decomposed = "e\u0301";
  for (const std::string_view pre : {"qwen2", "qwen35", "command-r", "mpt"}) {
    vocabulary_.description.pre = pre;
    EXPECT_TRUE(Make().normalizes());
    EXPECT_EQ(Make().Encode(decomposed), Make().Encode(composed)) << pre;
  }
  vocabulary_.description.pre = "gpt-2";
  EXPECT_FALSE(Make().normalizes());
  EXPECT_EQ(Make().Decode(Make().Encode(decomposed)), decomposed);
}

TEST_F(TokenizerTest, EveryPreTokenizerKeepsTheText) {
  const std::string text =
      "It's 1234567 o'clock,  DON'T \r\n\n\tcamelCase(x)->y; // \u00fcber \u4e2d\u6587\u3042 "
      "\ud55c\uae00 "
      "\u0939\u093f\u0928\u094d\u0926\u0940 \u00bd\u00b2 \U0001f600\U0001f9d1\u200d\U0001f4bb $5 "
      "a_b   \u00a0\u3000 ";
  for (const PreTokenizer& entry : PreTokenizers()) {
    for (const std::string_view name : entry.names) {
      vocabulary_.description.pre = name;
      vocabulary_.description.add_bos = false;
      const Tokenizer tokenizer = Make();
      EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(text)), text) << name;
    }
  }
}

TEST_F(TokenizerTest, NamedAndFoundIds) {
  vocabulary_.description.bos = start_;
  vocabulary_.description.unknown = unused_;
  vocabulary_.description.end_of_generation = {think_};
  const Tokenizer tokenizer = Make();
  EXPECT_EQ(tokenizer.vocabulary_size(), vocabulary_.description.tokens.size());
  EXPECT_EQ(tokenizer.bos(), start_);
  EXPECT_EQ(tokenizer.eos(), std::nullopt);
  EXPECT_EQ(tokenizer.eot(), end_);
  EXPECT_EQ(tokenizer.unknown(), unused_);
  EXPECT_EQ(
      Ids(tokenizer.end_of_generation().begin(), tokenizer.end_of_generation().end()),
      (Ids{end_, think_})
  );
  EXPECT_TRUE(tokenizer.IsEndOfGeneration(end_));
  EXPECT_FALSE(tokenizer.IsEndOfGeneration(start_));
  EXPECT_TRUE(tokenizer.IsSpecial(start_));
  EXPECT_TRUE(tokenizer.IsSpecial(end_));
  EXPECT_FALSE(tokenizer.IsSpecial(think_));
  EXPECT_FALSE(tokenizer.IsSpecial(99999));
  EXPECT_EQ(tokenizer.FindToken("<think>"), think_);
  EXPECT_EQ(tokenizer.FindToken("nothing"), std::nullopt);
  EXPECT_EQ(tokenizer.TokenBytes(space_hello_), " hello");
  EXPECT_EQ(tokenizer.TokenBytes(0xff), "\xff");
}

TEST_F(TokenizerTest, TextMustBeUtf8) {
  const Tokenizer tokenizer = Make();
  ExpectError(
      [&] { tokenizer.Encode("ab\xffz"); }, ErrorCode::kInvalidArgument, "invalid UTF-8 at byte 2"
  );
  ExpectError([&] { tokenizer.Encode("\xed\xa0\x80"); }, ErrorCode::kInvalidArgument, "at byte 0");
  EXPECT_EQ(tokenizer.Encode(std::string_view("a\0b", 3)), (Ids{'a', 0, 'b'}));
}

TEST_F(TokenizerTest, LimitsAreTold) {
  const Tokenizer tokenizer = Make();
  const std::string text(kMaxEncodedTextBytes + 1, 'a');
  ExpectError([&] { tokenizer.Encode(text); }, ErrorCode::kResourceExhausted, "8388609");
  const TokenId outside = static_cast<TokenId>(tokenizer.vocabulary_size());
  ExpectError(
      [&] { tokenizer.Decode(Ids{hello_, outside}); }, ErrorCode::kInvalidArgument, "token 266"
  );
  ExpectError(
      [&] { tokenizer.TokenBytes(outside); }, ErrorCode::kInvalidArgument, "the vocabulary has 266"
  );
}

// Long runs of one kind are where regular expressions and merges turn quadratic or give up.
TEST_F(TokenizerTest, LongRunsTakeLinearTime) {
  const std::size_t size = std::size_t{65536};
  for (const std::string_view pre :
       {"gpt-2", "llama-bpe", "qwen2", "deepseek-llm", "deepseek-v3", "gpt-4o", "falcon"}) {
    vocabulary_.description.pre = pre;
    vocabulary_.description.add_bos = false;
    const Tokenizer tokenizer = Make();
    for (const std::string part : {" ", "a", "7", "\n", "!", "\u4e2d", " \n", "a ", "'"}) {
      std::string text;
      while (text.size() < size) {
        text += part;
      }
      text += 'x';
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(text)), text) << pre << " " << part;
      const auto spent = std::chrono::steady_clock::now() - begin;
      EXPECT_LT(spent, std::chrono::seconds(10)) << pre << " " << testing::PrintToString(part);
    }
  }
}

// More white space than the bounds on backtracking in usual expression engines.
TEST_F(TokenizerTest, AVeryLongRunIsCutToTheEnd) {
  vocabulary_.description.pre = "llama-bpe";
  vocabulary_.description.add_bos = false;
  const Tokenizer tokenizer = Make();
  const std::size_t size = 1'200'000;
  const Ids ids = tokenizer.Encode(std::string(size, ' ') + " hello");
  EXPECT_EQ(ids.size(), size / 2 + 1);
  EXPECT_EQ(ids.back(), space_hello_);
}

TEST_F(TokenizerTest, ThreadsShareOne) {
  const Tokenizer tokenizer = Make();
  const Ids expected = tokenizer.Encode("hello hello<|im_end|>", {.parse_special = true});
  std::vector<Ids> found(4);
  std::vector<std::thread> threads;
  threads.reserve(found.size());
  for (Ids& ids : found) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        ids = tokenizer.Encode("hello hello<|im_end|>", {.parse_special = true});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const Ids& ids : found) {
    EXPECT_EQ(ids, expected);
  }
}

TEST_F(TokenizerTest, BrokenDescriptionsAreRefused) {
  const auto expect = [this](auto&& change, ErrorCode code, std::string_view part) {
    TokenizerDescription description = vocabulary_.description;
    change(description);
    ExpectError([&] { Tokenizer{description}; }, code, part);
  };
  using D = TokenizerDescription;
  expect([](D& d) { d.model = "llama"; }, ErrorCode::kUnsupported, "model 'llama'");
  expect([](D& d) { d.model = "a\nb"; }, ErrorCode::kUnsupported, "a\\x0ab");
  expect([](D& d) { d.pre = "nothing"; }, ErrorCode::kUnsupported, "'nothing'");
  expect([](D& d) { d.tokens.clear(); }, ErrorCode::kCorruptData, "empty");
  expect([](D& d) { d.kinds.pop_back(); }, ErrorCode::kCorruptData, "265 token kinds for 266");
  expect([](D& d) { d.bos = 266; }, ErrorCode::kCorruptData, "bos token 266");
  expect([](D& d) { d.end_of_generation = {1, 9999}; }, ErrorCode::kCorruptData, "9999");
  expect([](D& d) { d.merges[1] = "ll"; }, ErrorCode::kCorruptData, "merge 1: got 'll'");
  expect([](D& d) { d.merges[1] = "l "; }, ErrorCode::kCorruptData, "merge 1");
  expect([](D& d) { d.merges[1] = "l q"; }, ErrorCode::kCorruptData, "merge 1: \"lq\"");
  expect([](D& d) { d.merges[0] = "\xff l"; }, ErrorCode::kInvalidArgument, "UTF-8");
  expect([](D& d) { d.add_bos = true; }, ErrorCode::kCorruptData, "bos");
  expect([](D& d) { d.add_eos = true; }, ErrorCode::kCorruptData, "eos");
}

TEST_F(TokenizerTest, OddEntriesAreKeptButNotFound) {
  const TokenId broken = vocabulary_.Add("\xff\xfe", TokenKind::kControl);
  const TokenId empty = vocabulary_.Add("", TokenKind::kUserDefined);
  const TokenId twin = vocabulary_.Add("<think>", TokenKind::kUserDefined);
  const Tokenizer tokenizer = Make();
  EXPECT_EQ(tokenizer.Encode("<think>a"), (Ids{think_, 'a'}))
      << "of equal entries the first is taken";
  EXPECT_EQ(tokenizer.Decode(Ids{broken, empty, twin}), "\ufffd\ufffd<think>");
}

TEST(CleanSpaces, FollowsThePublishedList) {
  EXPECT_EQ(
      CleanSpaces("Hello , world ! is n't it 's ' fine ' ?"), "Hello, world! isn't it's'fine '?"
  );
  EXPECT_EQ(CleanSpaces(" ."), ".");
  EXPECT_EQ(CleanSpaces("  . a 'd"), " . a 'd");
  EXPECT_EQ(CleanSpaces(""), "");
}

}  // namespace
}  // namespace hearth
