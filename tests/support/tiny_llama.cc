#include "support/tiny_llama.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/half.h"

namespace hearth {
namespace {

constexpr std::size_t kVocabulary = 261;  // not a multiple of a panel
constexpr std::size_t kLayers = 2;

using Random = std::mt19937;

float Normal(Random& random, float deviation) {
  return std::normal_distribution<float>(0.0f, deviation)(random);
}

// The float16 of a positive float32 in its normal range, cut off.
std::uint16_t CutToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>(
      (bits >> 16 & 0x8000u) | (((bits >> 23 & 0xffu) - 112u) << 10) | (bits >> 13 & 0x3ffu)
  );
}

void PutHalf(std::byte* at, float value) {
  const std::uint16_t bits = CutToHalf(value);
  std::memcpy(at, &bits, sizeof bits);
}

// Random codes under scales that make values of about the size 1 / sqrt(columns).
std::vector<std::byte> RandomMatrix(
    ElementType type, std::size_t rows, std::size_t columns, Random& random
) {
  const BlockLayout layout = LayoutOf(type);
  std::vector<std::byte> data(rows * columns / layout.values * layout.bytes);
  const float size = 1.2f / std::sqrt(static_cast<float>(columns));
  for (std::byte& byte : data) {
    byte = static_cast<std::byte>(random());
  }
  for (std::size_t at = 0; at < data.size(); at += layout.bytes) {
    std::byte* block = data.data() + at;
    const float factor = size * std::uniform_real_distribution<float>(0.5f, 1.5f)(random);
    const float value = Normal(random, size);
    switch (type) {
      case ElementType::kF32:
        std::memcpy(block, &value, sizeof value);
        break;
      case ElementType::kF16:
        PutHalf(block, std::fabs(value) < 1e-4f ? 0.01f : value);
        break;
      case ElementType::kBF16: {
        const std::uint16_t bits = FloatToBf16(value);
        std::memcpy(block, &bits, sizeof bits);
        break;
      }
      case ElementType::kQ4_0:
        PutHalf(block, factor / 4);
        break;
      case ElementType::kQ4_1:
        PutHalf(block, factor / 4);
        PutHalf(block + 2, -2 * factor);
        break;
      case ElementType::kQ8_0:
        PutHalf(block, factor / 64);
        break;
      case ElementType::kQ4_K:
        PutHalf(block, factor / 128);
        PutHalf(block + 2, factor / 16);
        break;
      case ElementType::kQ6_K:
        PutHalf(block + 208, factor / 1024);
        break;
    }
  }
  return data;
}

}  // namespace

TinyLlama::TinyLlama(TinyMix mix, std::uint32_t seed) {
  Random random(seed);
  config_.context_length = 1024;
  config_.layers = kLayers;
  config_.rms_epsilon = 1e-5f;
  config_.rope_base = 10000;
  config_.vocabulary = kVocabulary;
  std::vector<ElementType> types;
  switch (mix) {
    case TinyMix::kLegacy:
      types = {ElementType::kQ4_1, ElementType::kQ8_0, ElementType::kQ4_0};
      config_.hidden_size = 96;
      config_.heads = 6;
      config_.kv_heads = 2;
      config_.head_dim = 16;
      config_.feed_forward = 160;
      break;
    case TinyMix::kK:
      types = {ElementType::kQ4_K, ElementType::kQ6_K};
      config_.hidden_size = 256;
      config_.heads = 4;
      config_.kv_heads = 1;
      config_.head_dim = 64;
      config_.feed_forward = 256;
      break;
    case TinyMix::kFloat:
      types = {ElementType::kBF16, ElementType::kF16, ElementType::kF32};
      config_.hidden_size = 80;
      config_.heads = 5;
      config_.kv_heads = 5;
      config_.head_dim = 16;
      config_.feed_forward = 112;
      break;
  }
  config_.rope_dimensions = config_.head_dim;
  std::size_t next = 0;
  const auto matrix = [&](const std::string& name, std::size_t rows, std::size_t columns) {
    const ElementType type = types[next++ % types.size()];
    tensors_[name] = {type, rows, columns, RandomMatrix(type, rows, columns, random)};
  };
  const auto norm = [&](const std::string& name) {
    std::vector<std::byte> data(config_.hidden_size * sizeof(float));
    for (std::size_t i = 0; i < config_.hidden_size; ++i) {
      const float value = 1.0f + Normal(random, 0.2f);
      std::memcpy(data.data() + i * sizeof value, &value, sizeof value);
    }
    tensors_[name] = {ElementType::kF32, 1, config_.hidden_size, std::move(data)};
  };
  const std::size_t hidden = config_.hidden_size;
  const std::size_t attention = config_.heads * config_.head_dim;
  const std::size_t kv = config_.kv_heads * config_.head_dim;
  matrix("token_embd.weight", kVocabulary, hidden);
  matrix("output.weight", kVocabulary, hidden);
  norm("output_norm.weight");
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    norm(prefix + "attn_norm.weight");
    matrix(prefix + "attn_q.weight", attention, hidden);
    matrix(prefix + "attn_k.weight", kv, hidden);
    matrix(prefix + "attn_v.weight", kv, hidden);
    matrix(prefix + "attn_output.weight", hidden, attention);
    norm(prefix + "ffn_norm.weight");
    matrix(prefix + "ffn_gate.weight", config_.feed_forward, hidden);
    matrix(prefix + "ffn_up.weight", config_.feed_forward, hidden);
    matrix(prefix + "ffn_down.weight", hidden, config_.feed_forward);
  }
}

std::optional<WeightView> TinyLlama::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return std::nullopt;
  }
  const Tensor& tensor = found->second;
  return WeightView{name, tensor.type, tensor.rows, tensor.columns, tensor.data};
}

std::vector<std::string> TinyLlama::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) {
    names.push_back(name);
  }
  return names;
}

}  // namespace hearth
