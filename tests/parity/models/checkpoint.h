// A tiny Hugging Face checkpoint as a weight source, for tests: reads its safetensors file, gives tensors their GGUF names
// and brings query and key rows into GGUF's order, as converters do.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "formats/llama_config.h"
#include "models/weight_source.h"

namespace hearth {

// Ownership: owns its bytes. Errors: an exception of some kind for what is not such a checkpoint.
class Checkpoint final : public WeightSource {
 public:
  explicit Checkpoint(const std::filesystem::path& folder);

  const LlamaConfig& config() const { return config_; }

  std::string name() const override { return "checkpoint"; }

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
