#include "text/end_markers.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TokenizerDescription Vocabulary(std::vector<std::string> tokens) {
  TokenizerDescription description;
  description.tokens = std::move(tokens);
  return description;
}

TEST(EndMarkers, FileAndMarkersTogether) {
  TokenizerDescription description = Vocabulary({"a", "<|endoftext|>", "<|im_end|>", "b", "</s>"});
  description.eos = 1;
  description.end_of_generation = {3};
  const EndTokens found = FindEndTokens(description);
  EXPECT_EQ(found.ends, (std::vector<TokenId>{1, 2, 3, 4}));
  EXPECT_EQ(found.turn_end, 2u);

  description.eot = 0;
  EXPECT_EQ(FindEndTokens(description).turn_end, 0u);
}

TEST(EndMarkers, NothingNamedNothingFound) {
  const EndTokens found = FindEndTokens(Vocabulary({"a", "b"}));
  EXPECT_TRUE(found.ends.empty());
  EXPECT_FALSE(found.turn_end.has_value());
}

TEST(EndMarkers, EndOfAMessageIsNotTheEndWhereThereAreChannels) {
  EXPECT_EQ(FindEndTokens(Vocabulary({"<|end|>"})).ends, (std::vector<TokenId>{0}));
  EXPECT_EQ(
      FindEndTokens(Vocabulary({"<|end|>", "<|return|>", "<|call|>"})).ends,
      (std::vector<TokenId>{1, 2})
  );
}

TEST(EndMarkers, TextDecides) {
  EXPECT_TRUE(IsEndMarker("<|eot_id|>"));
  EXPECT_TRUE(IsEndMarker(
      "<\xef\xbd\x9c"
      "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>"
  ));
  EXPECT_FALSE(IsEndMarker("<|im_start|>"));
  EXPECT_FALSE(IsEndMarker(""));
}

}  // namespace
}  // namespace hearth
