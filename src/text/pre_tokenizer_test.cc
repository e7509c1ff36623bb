#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "support/expect_error.h"

namespace hearth {
namespace {

TEST(PreTokenizer, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const PreTokenizer& entry : PreTokenizers()) {
    EXPECT_FALSE(entry.cuts.empty());
    for (const std::string_view name : entry.names) {
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(&FindPreTokenizer(name), &entry);
    }
  }
}

TEST(PreTokenizer, UnknownNamesAreNamed) {
  ExpectError([] { FindPreTokenizer("qwen9"); }, ErrorCode::kUnsupported, "'qwen9'");
  ExpectError([] { FindPreTokenizer(""); }, ErrorCode::kUnsupported, "names no pre-tokenizer");
  ExpectError([] { FindPreTokenizer("a\nb"); }, ErrorCode::kUnsupported, "a\\x0ab");
}

}  // namespace
}  // namespace hearth
