// Breaks one number of a good file at a time, cuts it at every byte, and throws random bytes at it. A file from outside
// must give an error or a sound result, never anything else; the sanitizers watch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/llama_config.h"
#include "formats/tokenizer_metadata.h"
#include "support/expect_error.h"
#include "support/gguf_writer.h"

namespace hearth {
namespace {

using Kind = GgufField::Kind;

GgufWriter TinyModel() {
  GgufWriter writer;
  writer.String("general.architecture", "llama").Uint32("general.alignment", 32);
  writer.Uint32("llama.context_length", 64)
      .Uint32("llama.embedding_length", 32)
      .Uint32("llama.block_count", 1);
  writer.Uint32("llama.feed_forward_length", 64).Uint32("llama.attention.head_count", 4);
  writer.Uint32("llama.attention.head_count_kv", 2).Uint32("llama.rope.dimension_count", 8);
  writer.Float32("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .Float32("llama.rope.freq_base", 10000);
  writer.String("tokenizer.ggml.model", "gpt2").String("tokenizer.ggml.pre", "smollm");
  writer.Strings("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "<|im_end|>"});
  writer.Ints("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1, 3});
  writer.Strings("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  writer.Uint32("tokenizer.ggml.bos_token_id", 3).Uint32("tokenizer.ggml.eos_token_id", 3);
  writer.Bool("tokenizer.ggml.add_bos_token", false).String("tokenizer.chat_template", "{{ x }}");
  writer.Tensor("token_embd.weight", ElementType::kQ8_0, {32, 4}, std::vector<std::byte>(136));
  writer.FloatTensor("output_norm.weight", {32}, std::vector<float>(32, 1));
  writer.Tensor("blk.0.attn_q.weight", ElementType::kF16, {32, 32}, std::vector<std::byte>(2048));
  writer.FloatTensor("blk.0.attn_norm.weight", {32}, std::vector<float>(32, 1));
  return writer;
}

// Everything that is ever read from a file before its tensors are used.
std::size_t ReadAll(const std::vector<std::byte>& bytes) {
  const GgufFile file(bytes, "mutant");
  std::size_t sum = 0;
  for (const TensorDescriptor& tensor : file.tensors()) {
    for (const std::byte byte : file.BytesOf(tensor)) {
      sum += std::to_integer<std::size_t>(byte);
    }
  }
  sum += ReadTokenizer(file).tokens.size();
  return sum + ReadLlamaConfig(file).layers;
}

void ExpectOneLineError(const std::vector<std::byte>& bytes, const std::string& what) {
  try {
    ReadAll(bytes);
    ADD_FAILURE() << what << ": accepted";
  } catch (const Error& error) {
    EXPECT_TRUE(IsOneLine(error.what())) << what << ": " << error.what();
    EXPECT_TRUE(std::string_view(error.what()).starts_with("mutant: ")) << error.what();
  }
}

std::uint64_t NumberAt(const std::vector<std::byte>& bytes, const GgufField& field) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + field.offset, field.bytes);
  return value;
}

// Values that no reader may accept in this field of TinyModel.
std::vector<std::uint64_t> BadValues(
    const GgufField& field, std::uint64_t good, std::size_t file_bytes
) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::string& what = field.what;
  switch (field.kind) {
    case Kind::kMagic:
      return {0, good ^ 1, good ^ 0x80000000, 0x47475546};
    case Kind::kVersion:
      return {0, 1, 4, 0x02000000, 0x03000000, 0xffffffff};
    case Kind::kCount:
      return {
          good + 1,
          good + 1000,
          file_bytes,
          kMaxGgufArrayElements + 1,
          kMax / 2,
          kMax / 8 + 1,
          kMax - 3,
          kMax
      };
    case Kind::kLength:
      return {file_bytes, std::uint64_t{1} << 32, kMax / 2, kMax - 7, kMax};
    case Kind::kValueType:
      return {13, 255, 0x80000000, 0xffffffff};
    case Kind::kAxes:
      return {0, 5, 256, 0x80000000, 0xffffffff};
    case Kind::kAxis:
      return {0, good * 2 + 32, kMax / 2 + 1, kMax - 31, kMax};
    case Kind::kTensorType:
      // Types of the same or an unknown size are good files; these take more bytes than there are.
      return {27, 28};
    case Kind::kOffset:
      return {good + 1, good + 16, file_bytes / 32 * 32, kMax / 2 + 1, kMax - 31, kMax};
    case Kind::kValue:
      if (what == "value of key 'general.alignment'") {
        return {0, 1, 4, 33, 48, 1u << 21, 0x80000000, 0xffffffff};
      }
      if (what.find("add_bos") != std::string::npos) {
        return {2, 128, 255};
      }
      if (what.find("token_id") != std::string::npos) {
        return {4, 0x80000000, 0xffffffff};
      }
      if (what.find("epsilon") != std::string::npos ||
          what.find("freq_base") != std::string::npos) {
        return {
            0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xbf800000
        };  // 0, -0, inf, -inf, NaN, -1
      }
      return {0, 0xffffffff};  // every other number of this model is a size
  }
  return {};
}

TEST(GgufMutation, TheModelIsGoodBeforeItIsBroken) {
  EXPECT_NO_THROW(ReadAll(TinyModel().Bytes()));
}

TEST(GgufMutation, EveryNumberOfTheStructureIsChecked) {
  std::vector<GgufField> fields;
  const std::vector<std::byte> good = TinyModel().Bytes(&fields);
  std::size_t mutants = 0;
  for (const GgufField& field : fields) {
    for (const std::uint64_t value : BadValues(field, NumberAt(good, field), good.size())) {
      std::vector<std::byte> bytes = good;
      std::memcpy(bytes.data() + field.offset, &value, std::min<std::size_t>(field.bytes, 8));
      ExpectOneLineError(bytes, field.what + " = " + std::to_string(value));
      ++mutants;
    }
  }
  EXPECT_GT(mutants, 400u);
}

TEST(GgufMutation, EveryCutIsNoticed) {
  const std::vector<std::byte> good = TinyModel().Bytes();
  for (std::size_t kept = 0; kept < good.size(); ++kept) {
    const std::vector<std::byte> bytes(
        good.begin(), good.begin() + static_cast<std::ptrdiff_t>(kept)
    );
    ExpectOneLineError(bytes, "cut at " + std::to_string(kept));
  }
}

TEST(GgufMutation, RandomBytesGiveAnErrorOrASoundResult) {
  std::vector<GgufField> fields;
  const std::vector<std::byte> good = TinyModel().Bytes(&fields);
  const std::size_t structure = fields.back().offset + fields.back().bytes;
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  const auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  constexpr std::uint8_t kInteresting[] = {0, 1, 2, 7, 8, 9, 127, 128, 255};
  std::size_t accepted = 0;
  constexpr std::size_t kMutants = 20000;
  for (std::size_t mutant = 0; mutant < kMutants; ++mutant) {
    std::vector<std::byte> bytes = good;
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::uint64_t roll = random();
      const std::byte value{
          roll % 2 == 0 ? static_cast<std::uint8_t>(roll >> 8) : kInteresting[(roll >> 8) % 9]
      };
      bytes[random() % structure] = value;
    }
    try {
      ReadAll(bytes);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_TRUE(IsOneLine(error.what())) << error.what();
    }
  }
  EXPECT_GT(accepted, kMutants / 100);
  EXPECT_LT(accepted, kMutants / 2);
}

}  // namespace
}  // namespace hearth
