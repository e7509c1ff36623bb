#include "parity/models/checkpoint.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numbers>
#include <stdexcept>

#include "support/fixtures.h"

namespace hearth {
namespace {

using Json = nlohmann::json;

std::string GgufName(const std::string& name) {
  static const std::map<std::string, std::string> parts = {
      {"input_layernorm", "attn_norm"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"post_attention_layernorm", "ffn_norm"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
  };
  static const std::map<std::string, std::string> whole = {
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.norm.weight", "output_norm.weight"},
      {"lm_head.weight", "output.weight"},
  };
  if (const auto found = whole.find(name); found != whole.end()) {
    return found->second;
  }
  const std::string prefix = "model.layers.";
  const std::size_t dot = name.find('.', prefix.size());
  const std::size_t end = name.rfind(".weight");
  if (name.rfind(prefix, 0) != 0 || dot == std::string::npos || end == std::string::npos) {
    throw std::runtime_error("checkpoint: tensor " + name);
  }
  const std::string layer = name.substr(prefix.size(), dot - prefix.size());
  return "blk." + layer + "." + parts.at(name.substr(dot + 1, end - dot - 1)) + ".weight";
}

// Rows of a head from halves side by side, as Hugging Face rotates them, to neighbouring pairs.
std::vector<std::byte> PairRows(
    const std::vector<std::byte>& data, std::size_t heads, std::size_t rows
) {
  const std::size_t row_bytes = data.size() / rows;
  const std::size_t head_rows = rows / heads;
  std::vector<std::byte> paired(data.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t head = row / head_rows;
    const std::size_t half = row % head_rows / (head_rows / 2);
    const std::size_t pair = row % (head_rows / 2);
    const std::size_t to = head * head_rows + 2 * pair + half;
    std::memcpy(paired.data() + to * row_bytes, data.data() + row * row_bytes, row_bytes);
  }
  return paired;
}

// The divisors of "llama3" rotation scaling. Source: Llama 3.1's published reference code.
std::vector<float> RopeFactors(const Json& scaling, double base, std::size_t dimensions) {
  const double factor = scaling.at("factor"), low = scaling.at("low_freq_factor");
  const double high = scaling.at("high_freq_factor");
  const double context = scaling.at("original_max_position_embeddings");
  std::vector<float> factors;
  for (std::size_t i = 0; i < dimensions / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(dimensions);
    const double wave = 2 * std::numbers::pi * std::pow(base, exponent);
    const double smooth = (context / wave - low) / (high - low);
    double divisor = 1 / ((1 - smooth) / factor + smooth);
    if (wave < context / high) {
      divisor = 1;
    } else if (wave > context / low) {
      divisor = factor;
    }
    factors.push_back(static_cast<float>(divisor));
  }
  return factors;
}

}  // namespace

Checkpoint::Checkpoint(const std::filesystem::path& folder) {
  const Json config = LoadJson(folder / "config.json");
  config_.context_length = config.at("max_position_embeddings");
  config_.hidden_size = config.at("hidden_size");
  config_.layers = config.at("num_hidden_layers");
  config_.feed_forward = config.at("intermediate_size");
  config_.heads = config.at("num_attention_heads");
  config_.kv_heads = config.at("num_key_value_heads");
  config_.head_dim = config_.hidden_size / config_.heads;
  config_.rms_epsilon = config.at("rms_norm_eps");
  config_.rope_base = config.at("rope_theta");
  config_.rope_dimensions = config_.head_dim;
  config_.vocabulary = config.at("vocab_size");

  std::ifstream file(folder / "model.safetensors", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  const Json header = Json::parse(bytes.substr(8, header_bytes));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    if (entry.at("dtype") != "BF16") {
      throw std::runtime_error("checkpoint: " + name + " is not BF16");
    }
    const auto shape = entry.at("shape").get<std::vector<std::size_t>>();
    const auto offsets = entry.at("data_offsets").get<std::vector<std::size_t>>();
    const char* data = bytes.data() + 8 + header_bytes;
    Tensor tensor{ElementType::kBF16, shape.size() == 2 ? shape[0] : 1, shape.back(), {}};
    tensor.data.resize(offsets[1] - offsets[0]);
    std::memcpy(tensor.data.data(), data + offsets[0], tensor.data.size());
    const std::string gguf = GgufName(name);
    if (gguf.ends_with("attn_q.weight") || gguf.ends_with("attn_k.weight")) {
      const bool query = gguf.ends_with("attn_q.weight");
      tensor.data = PairRows(tensor.data, query ? config_.heads : config_.kv_heads, tensor.rows);
    }
    tensors_[gguf] = std::move(tensor);
  }
  if (config.contains("rope_scaling") && !config["rope_scaling"].is_null()) {
    const std::vector<float> factors = RopeFactors(
        config["rope_scaling"], static_cast<double>(config_.rope_base), config_.rope_dimensions
    );
    Tensor tensor{ElementType::kF32, 1, factors.size(), {}};
    tensor.data.resize(factors.size() * sizeof(float));
    std::memcpy(tensor.data.data(), factors.data(), tensor.data.size());
    tensors_["rope_freqs.weight"] = std::move(tensor);
  }
}

std::optional<WeightView> Checkpoint::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return std::nullopt;
  }
  const Tensor& tensor = found->second;
  return WeightView{name, tensor.type, tensor.rows, tensor.columns, tensor.data};
}

std::vector<std::string> Checkpoint::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) {
    names.push_back(name);
  }
  return names;
}

}  // namespace hearth
