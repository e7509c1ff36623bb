// Small llama models with random weights, made in memory: real shapes of trouble (odd vocabulary, grouped
// heads, padded head size, mixed element types) at a size where whole grids of tests run in seconds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "formats/llama_config.h"
#include "models/weight_source.h"

namespace hearth {

// How the matrices of a tiny model are stored.
enum class TinyMix {
  kLegacy,  // Q4_1, Q4_0 and Q8_0, as older files mix them; hidden size 96
  kK,       // Q4_K and Q6_K; hidden size 256
  kFloat,   // F32, F16 and BF16; hidden size 80
};

// Ownership: owns its bytes. Threads: immutable. The same seed gives the same model.
class TinyLlama final : public WeightSource {
 public:
  TinyLlama(TinyMix mix, std::uint32_t seed);

  const LlamaConfig& config() const { return config_; }

  std::string name() const override { return "tiny model"; }

  std::optional<WeightView> Find(const std::string& name) const override;
  std::vector<std::string> Names() const override;

  void Release(const WeightView&) const override {}

 private:
  struct Tensor {
    ElementType type;
    std::size_t rows;
    std::size_t columns;
    std::vector<std::byte> data;
  };

  LlamaConfig config_{};
  std::map<std::string, Tensor> tensors_;
};

}  // namespace hearth
