#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/tiny_vocabulary.h"

namespace hearth {
namespace {

using Ids = std::vector<TokenId>;

class DetokenizerTest : public testing::Test {
 protected:
  DetokenizerTest() {
    half_ = vocabulary_.Merge("\xf0", "\x9f");
    middle_ = vocabulary_.Merge("\x98", "\x80");
    end_ = vocabulary_.Add("<|im_end|>", TokenKind::kControl);
    tokenizer_ = std::make_unique<Tokenizer>(vocabulary_.description);
  }

  // The joined pieces; each must be valid by itself.
  std::string Stream(const Ids& ids, bool skip_special = true) const {
    Detokenizer detokenizer(*tokenizer_, skip_special);
    std::string joined;
    for (const TokenId id : ids) {
      const std::string piece = detokenizer.Push(id);
      std::string again;
      Utf8Stream check;
      check.Push(piece, again);
      check.Finish(again);
      EXPECT_EQ(again, piece) << "a piece that is not whole";
      joined += piece;
    }
    return joined + detokenizer.Finish();
  }

  TinyVocabulary vocabulary_;
  TokenId half_, middle_, end_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(DetokenizerTest, ACharacterWaitsForItsRest) {
  Detokenizer detokenizer(*tokenizer_);
  EXPECT_EQ(detokenizer.Push('a'), "a");
  EXPECT_EQ(detokenizer.Push(half_), "");
  EXPECT_EQ(detokenizer.Push(middle_), "\U0001f600");
  EXPECT_EQ(detokenizer.Finish(), "");
}

TEST_F(DetokenizerTest, TheEndMayFallInsideACharacter) {
  Detokenizer detokenizer(*tokenizer_);
  EXPECT_EQ(detokenizer.Push(half_), "");
  EXPECT_EQ(detokenizer.Finish(), "\ufffd");
  EXPECT_EQ(detokenizer.Push('b'), "b");
}

TEST_F(DetokenizerTest, SpecialTokensAreLeftOutOnRequest) {
  EXPECT_EQ(Stream({'a', end_, 'b'}), "ab");
  EXPECT_EQ(Stream({'a', end_, 'b'}, false), "a<|im_end|>b");
  // One that is left out does not cut a character in two, as in the decoding of the whole.
  EXPECT_EQ(Stream({half_, end_, middle_}), "\U0001f600");
  EXPECT_EQ(Stream({half_, end_, middle_}, false), tokenizer_->Decode(Ids{half_, end_, middle_}));
}

TEST_F(DetokenizerTest, JoinedPiecesEqualTheWhole) {
  std::mt19937 random(11);  // NOLINT(bugprone-random-generator-seed): the same run each time
  const Ids alphabet = {
      'a', half_, middle_, end_, 0xf0, 0x9f, 0x98, 0x80, 0xe2, 0x82, 0xac, 0xc3, 0xff, '\n'
  };
  for (int round = 0; round < 1000; ++round) {
    Ids ids(random() % 20);
    for (TokenId& id : ids) {
      id = alphabet[random() % alphabet.size()];
    }
    for (const bool skip : {false, true}) {
      ASSERT_EQ(Stream(ids, skip), tokenizer_->Decode(ids, {.skip_special = skip}))
          << testing::PrintToString(ids);
    }
  }
}

TEST_F(DetokenizerTest, AnIdOutsideTheVocabularyChangesNothing) {
  Detokenizer detokenizer(*tokenizer_);
  EXPECT_EQ(detokenizer.Push(half_), "");
  ExpectError([&] { detokenizer.Push(99999); }, ErrorCode::kInvalidArgument, "token 99999");
  EXPECT_EQ(detokenizer.Push(middle_), "\U0001f600");
}

}  // namespace
}  // namespace hearth
