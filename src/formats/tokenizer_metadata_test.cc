#include "formats/tokenizer_metadata.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/gguf_writer.h"

namespace hearth {
namespace {

using Strings = std::vector<std::string>;

TokenizerDescription Read(const GgufWriter& writer) {
  const std::vector<std::byte> bytes = writer.Bytes();
  return ReadTokenizer(GgufFile(bytes, "t.gguf"));
}

void ExpectCorrupt(const GgufWriter& writer, std::string_view part) {
  ExpectError([&] { Read(writer); }, ErrorCode::kCorruptData, part);
}

GgufWriter Base() {
  GgufWriter writer;
  writer.String("tokenizer.ggml.model", "gpt2");
  writer.Strings("tokenizer.ggml.tokens", Strings{"<|endoftext|>", "a", "<|im_end|>", "\xff"});
  return writer;
}

TEST(TokenizerMetadata, ReadsEverything) {
  GgufWriter writer = Base();
  writer.String("tokenizer.ggml.pre", "smollm")
      .Strings("tokenizer.ggml.merges", Strings{"a b", "c d"});
  writer.Ints("tokenizer.ggml.token_type", std::vector<std::int32_t>{3, 1, 3, 6});
  writer.Floats("tokenizer.ggml.scores", std::vector<float>{0, -1, -2, -3});
  writer.Uint32("tokenizer.ggml.bos_token_id", 0).Uint32("tokenizer.ggml.eos_token_id", 2);
  writer.Uint32("tokenizer.ggml.eot_token_id", 1).Uint32("tokenizer.ggml.unknown_token_id", 3);
  writer.Uint32("tokenizer.ggml.padding_token_id", 2).Uint32("tokenizer.ggml.eom_token_id", 3);
  writer.Bool("tokenizer.ggml.add_bos_token", true).Bool("tokenizer.ggml.add_eos_token", true);
  writer.String("tokenizer.chat_template", "{{ messages }}");
  const TokenizerDescription read = Read(writer);
  EXPECT_EQ(read.model, "gpt2");
  EXPECT_EQ(read.pre, "smollm");
  EXPECT_EQ(read.tokens, (Strings{"<|endoftext|>", "a", "<|im_end|>", "\xff"}));
  EXPECT_EQ(
      read.kinds,
      (std::vector<TokenKind>{
          TokenKind::kControl, TokenKind::kNormal, TokenKind::kControl, TokenKind::kByte
      })
  );
  EXPECT_EQ(read.scores, (std::vector<float>{0, -1, -2, -3}));
  EXPECT_EQ(read.merges, (Strings{"a b", "c d"}));
  EXPECT_EQ(read.bos, 0u);
  EXPECT_EQ(read.eos, 2u);
  EXPECT_EQ(read.eot, 1u);
  EXPECT_EQ(read.unknown, 3u);
  EXPECT_EQ(read.padding, 2u);
  // The stated id, then the marker among the control tokens; eos stands in its own field.
  EXPECT_EQ(read.end_of_generation, (std::vector<TokenId>{3, 0}));
  EXPECT_EQ(read.add_bos, true);
  EXPECT_EQ(read.add_eos, true);
  EXPECT_EQ(read.chat_template, "{{ messages }}");
}

TEST(TokenizerMetadata, MostIsOptional) {
  const TokenizerDescription read = Read(Base());
  EXPECT_EQ(read.tokens.size(), 4u);
  EXPECT_TRUE(read.pre.empty() && read.kinds.empty() && read.scores.empty() && read.merges.empty());
  EXPECT_FALSE(read.bos || read.eos || read.eot || read.unknown || read.padding);
  EXPECT_TRUE(read.end_of_generation.empty());  // nothing says that the marker is a control token
  EXPECT_FALSE(read.add_bos.has_value() || read.add_eos.has_value());
  EXPECT_TRUE(read.chat_template.empty());
}

TEST(TokenizerMetadata, SomethingMustBeThere) {
  ExpectCorrupt(GgufWriter(), "t.gguf: key 'tokenizer.ggml.model' is missing");
  GgufWriter no_tokens;
  no_tokens.String("tokenizer.ggml.model", "gpt2");
  ExpectCorrupt(no_tokens, "key 'tokenizer.ggml.tokens' is missing");
  no_tokens.Strings("tokenizer.ggml.tokens", Strings{});
  ExpectCorrupt(no_tokens, "key 'tokenizer.ggml.tokens' is empty");
}

TEST(TokenizerMetadata, KnownFault95ElementTypesAreCheckedFirst) {
  const std::vector<std::byte> bytes_as_array{
      std::byte{0},
      {},
      {},
      {},
      std::byte{4},
      {},
      {},
      {},
      {},
      {},
      {},
      {},
      {},
      {},
      {},
      {},
  };
  const auto with_bytes = [&](std::string_view key) { return Base().Raw(key, 9, bytes_as_array); };
  ExpectCorrupt(
      with_bytes("tokenizer.ggml.scores"), "is array of uint8, wanted an array of float32"
  );
  ExpectCorrupt(
      with_bytes("tokenizer.ggml.merges"), "is array of uint8, wanted an array of strings"
  );
  GgufWriter tokens;
  tokens.String("tokenizer.ggml.model", "gpt2").Raw("tokenizer.ggml.tokens", 9, bytes_as_array);
  ExpectCorrupt(
      tokens, "key 'tokenizer.ggml.tokens' is array of uint8, wanted an array of strings"
  );
  ExpectCorrupt(
      Base().Floats("tokenizer.ggml.token_type", std::vector<float>(4)),
      "key 'tokenizer.ggml.token_type' is array of float32, wanted an array of integers"
  );
}

TEST(TokenizerMetadata, ListsMustAgree) {
  ExpectCorrupt(
      Base().Ints("tokenizer.ggml.token_type", std::vector<std::int32_t>(3, 1)),
      "key 'tokenizer.ggml.token_type' has 3 elements, wanted one for each of 4 tokens"
  );
  ExpectCorrupt(
      Base().Floats("tokenizer.ggml.scores", std::vector<float>(5)),
      "key 'tokenizer.ggml.scores' has 5 elements, wanted one for each of 4 tokens"
  );
}

TEST(TokenizerMetadata, KindsMustBeKnown) {
  for (const std::int32_t kind : {0, 7, -1, 259}) {
    ExpectCorrupt(
        Base().Ints("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, kind, 1}),
        "has kind " + std::to_string(kind) + " for token 2, wanted 1 to 6"
    );
  }
}

TEST(TokenizerMetadata, IdsMustBeInTheVocabulary) {
  for (const char* name : {"bos", "eos", "eot", "eom", "unknown", "padding"}) {
    const std::string key = std::string("tokenizer.ggml.") + name + "_token_id";
    ExpectCorrupt(Base().Uint32(key, 4), "key '" + key + "' is 4, wanted 0 to 3");
    ExpectCorrupt(Base().Int32(key, -1), "key '" + key + "' is -1, wanted 0 to 3");
    EXPECT_NO_THROW(Read(Base().Uint32(key, 3)));
  }
}

TEST(TokenizerMetadata, ListsAreBounded) {
  const auto with_count = [](std::string_view key, std::uint64_t count, GgufWriter writer) {
    std::vector<std::byte> array(12 + count * 8);
    array[0] = std::byte{8};
    std::memcpy(array.data() + 4, &count, 8);
    return writer.Raw(key, 9, array);
  };
  GgufWriter tokens;
  tokens.String("tokenizer.ggml.model", "gpt2");
  ExpectError(
      [&] { Read(with_count("tokenizer.ggml.tokens", kMaxVocabulary + 1, tokens)); },
      ErrorCode::kResourceExhausted,
      "has 1048577 elements, the limit is 1048576"
  );
  ExpectError(
      [&] { Read(with_count("tokenizer.ggml.merges", kMaxMerges + 1, Base())); },
      ErrorCode::kResourceExhausted,
      "has 2097153 elements, the limit is 2097152"
  );
}

}  // namespace
}  // namespace hearth
