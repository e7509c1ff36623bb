// The shape of a model of the llama family, from the "llama.*" metadata of a GGUF file. Plain numbers, checked; which
// tensors exist and whether the architecture is llama at all is the loader's business.
#pragma once

#include <cstdint>

#include "formats/gguf.h"

namespace hearth {

// Bounds that no published model comes near; they keep products of two of these numbers far from overflow.
inline constexpr std::uint64_t kMaxContextLength = std::uint64_t{1} << 26;
inline constexpr std::uint64_t kMaxModelWidth = std::uint64_t{1}
                                                << 20;  // hidden and feed-forward sizes
inline constexpr std::uint64_t kMaxModelLayers = 4096;
inline constexpr std::uint64_t kMaxHeads = 4096;
inline constexpr std::uint64_t kMaxHeadDimension = 4096;

struct LlamaConfig {
  std::uint32_t context_length = 0;  // tokens the model was trained for
  std::uint32_t hidden_size = 0;     // values of a token between layers
  std::uint32_t layers = 0;
  std::uint32_t feed_forward = 0;  // inner width of the gated feed-forward part
  std::uint32_t heads = 0;         // query heads; a multiple of kv_heads
  std::uint32_t kv_heads = 0;
  std::uint32_t head_dim =
      0;  // of queries, keys and values; hidden_size / heads unless the file says otherwise
  float rms_epsilon = 0;  // > 0
  float rope_base = 0;    // > 0; 10000 when the file says nothing
  std::uint32_t rope_dimensions =
      0;                         // rotated values at the start of a head; even, at most head_dim
  std::uint32_t vocabulary = 0;  // rows of logits; at least the number of tokens, more when padded

  bool operator==(const LlamaConfig&) const = default;
};

// Errors: Error(kCorruptData) for missing, mistyped, zero, too large or disagreeing numbers; Error(kUnsupported) for
//         what this family here does not do: experts, scaled rotation, a sliding window, values of another width.
LlamaConfig ReadLlamaConfig(const GgufFile& file);

}  // namespace hearth
