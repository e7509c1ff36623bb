#include "formats/llama_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/expect_error.h"
#include "support/gguf_writer.h"

namespace hearth {
namespace {

// The keys of a good file; a test changes some and writes the rest.
class Keys {
 public:
  Keys() {
    Uint("context_length", 2048).Uint("embedding_length", 576).Uint("block_count", 30);
    Uint("feed_forward_length", 1536)
        .Uint("attention.head_count", 9)
        .Uint("attention.head_count_kv", 3);
    Uint("vocab_size", 49152)
        .Float("attention.layer_norm_rms_epsilon", 1e-5f)
        .Float("rope.freq_base", 100000);
    Uint("rope.dimension_count", 64);
  }

  Keys& Set(const std::string& key, std::function<void(GgufWriter&, const std::string&)> write) {
    values_["llama." + key] = std::move(write);
    return *this;
  }

  Keys& Uint(const std::string& key, std::uint32_t value) {
    return Set(key, [value](GgufWriter& writer, const std::string& name) {
      writer.Uint32(name, value);
    });
  }

  Keys& Float(const std::string& key, float value) {
    return Set(key, [value](GgufWriter& writer, const std::string& name) {
      writer.Float32(name, value);
    });
  }

  Keys& Text(const std::string& key, const std::string& value) {
    return Set(key, [value](GgufWriter& writer, const std::string& name) {
      writer.String(name, value);
    });
  }

  Keys& Without(const std::string& key) {
    values_.erase("llama." + key);
    return *this;
  }

  Keys& Tokens(std::size_t count) {
    values_["tokenizer.ggml.tokens"] = [count](GgufWriter& writer, const std::string& name) {
      writer.Strings(name, std::vector<std::string>(count, "t"));
    };
    return *this;
  }

  LlamaConfig Read() const {
    GgufWriter writer;
    for (const auto& [key, write] : values_) {
      write(writer, key);
    }
    const std::vector<std::byte> bytes = writer.Bytes();
    return ReadLlamaConfig(GgufFile(bytes, "l.gguf"));
  }

 private:
  std::map<std::string, std::function<void(GgufWriter&, const std::string&)>> values_;
};

void ExpectRefused(
    const Keys& keys, std::string_view part, ErrorCode code = ErrorCode::kCorruptData
) {
  ExpectError([&] { keys.Read(); }, code, part);
}

TEST(LlamaConfig, ReadsTheNumbers) {
  const LlamaConfig config = Keys().Read();
  EXPECT_EQ(
      config,
      (LlamaConfig{
          .context_length = 2048,
          .hidden_size = 576,
          .layers = 30,
          .feed_forward = 1536,
          .heads = 9,
          .kv_heads = 3,
          .head_dim = 64,
          .rms_epsilon = 1e-5f,
          .rope_base = 100000,
          .rope_dimensions = 64,
          .vocabulary = 49152,
      })
  );
}

TEST(LlamaConfig, FillsInWhatAFileMayLeaveOut) {
  const LlamaConfig config = Keys()
                                 .Without("attention.head_count_kv")
                                 .Without("rope.freq_base")
                                 .Without("rope.dimension_count")
                                 .Without("vocab_size")
                                 .Tokens(100)
                                 .Read();
  EXPECT_EQ(config.kv_heads, 9u);
  EXPECT_EQ(config.rope_base, 10000.0f);
  EXPECT_EQ(config.rope_dimensions, 64u);
  EXPECT_EQ(config.vocabulary, 100u);
}

TEST(LlamaConfig, AStatedHeadDimensionWins) {
  const LlamaConfig config =
      Keys().Uint("embedding_length", 577).Uint("attention.key_length", 128).Read();
  EXPECT_EQ(config.head_dim, 128u);
  EXPECT_EQ(config.rope_dimensions, 64u);
}

TEST(LlamaConfig, ThePaddedVocabularyWins) {
  EXPECT_EQ(Keys().Tokens(49000).Read().vocabulary, 49152u);
  ExpectRefused(
      Keys().Tokens(49153), "key 'llama.vocab_size' is 49152, wanted at least the 49153 tokens"
  );
  ExpectRefused(Keys().Without("vocab_size"), "a vocabulary of 0 tokens");
}

TEST(LlamaConfig, EveryNumberIsChecked) {
  for (const char* key :
       {"context_length",
        "embedding_length",
        "block_count",
        "feed_forward_length",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "rope.dimension_count",
        "vocab_size"}) {
    const std::string name = std::string("key 'llama.") + key + "' is ";
    ExpectRefused(Keys().Uint(key, 0), name + "0, wanted 1 to ");
    ExpectRefused(Keys().Uint(key, 0xffffffff), name + "4294967295, wanted 1 to ");
    ExpectRefused(Keys().Text(key, "many"), name + "string, wanted an unsigned integer");
  }
  for (const char* key :
       {"context_length",
        "embedding_length",
        "block_count",
        "feed_forward_length",
        "attention.head_count",
        "attention.layer_norm_rms_epsilon"}) {
    ExpectRefused(Keys().Without(key), std::string("key 'llama.") + key + "' is missing");
  }
  for (const char* key : {"attention.layer_norm_rms_epsilon", "rope.freq_base"}) {
    for (const float value : {0.0f, -1.0f, 2e30f}) {
      ExpectRefused(Keys().Float(key, value), std::string("key 'llama.") + key + "' is ");
    }
    const auto tiny = [](GgufWriter& writer, const std::string& name) {
      writer.Float64(name, 1e-60);
    };
    ExpectRefused(Keys().Set(key, tiny), "is 1e-60, wanted a positive number");
    ExpectRefused(Keys().Float(key, NAN), "wanted a finite number");
    ExpectRefused(Keys().Uint(key, 1), "is uint32, wanted a float");
  }
}

TEST(LlamaConfig, NumbersMustAgree) {
  ExpectRefused(
      Keys().Uint("embedding_length", 577), "embedding length 577, wanted a multiple of 9 heads"
  );
  ExpectRefused(
      Keys().Uint("attention.head_count_kv", 2), "9 heads, wanted a multiple of 2 key-value heads"
  );
  ExpectRefused(
      Keys().Uint("attention.head_count_kv", 10), "9 heads, wanted a multiple of 10 key-value heads"
  );
  ExpectRefused(
      Keys().Uint("rope.dimension_count", 63),
      "key 'llama.rope.dimension_count' is 63, wanted an even number up to 64"
  );
  ExpectRefused(Keys().Uint("rope.dimension_count", 66), "is 66, wanted an even number up to 64");
  ExpectRefused(
      Keys().Uint("embedding_length", 9 * 65).Without("rope.dimension_count"),
      "is 65, wanted an even number up to 65"
  );
  ExpectRefused(
      Keys()
          .Uint("embedding_length", 8194)
          .Uint("attention.head_count", 1)
          .Uint("attention.head_count_kv", 1),
      "heads of 8194 values, wanted at most 4096"
  );
}

TEST(LlamaConfig, WhatIsNotDoneIsRefused) {
  const auto refused = [](const Keys& keys, std::string_view part) {
    ExpectRefused(keys, part, ErrorCode::kUnsupported);
  };
  refused(Keys().Uint("expert_count", 8), "key 'llama.expert_count' is 8, wanted 0");
  refused(
      Keys().Text("rope.scaling.type", "yarn"),
      "key 'llama.rope.scaling.type' is 'yarn', wanted 'none'"
  );
  refused(Keys().Float("rope.scale_linear", 2), "key 'llama.rope.scale_linear' is 2, wanted 1");
  refused(
      Keys().Uint("attention.sliding_window", 1024),
      "key 'llama.attention.sliding_window' is 1024, wanted 0"
  );
  refused(
      Keys().Uint("attention.value_length", 32),
      "key 'llama.attention.value_length' is 32, wanted 64"
  );
  EXPECT_NO_THROW(
      Keys()
          .Uint("expert_count", 0)
          .Text("rope.scaling.type", "none")
          .Float("rope.scale_linear", 1)
          .Uint("attention.sliding_window", 2048)
          .Uint("attention.value_length", 64)
          .Read()
  );
}

}  // namespace
}  // namespace hearth
