#include "formats/llama_config.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "contracts/printable.h"
#include "formats/gguf_metadata.h"
#include "formats/tokenizer_metadata.h"
#include "hearth/error.h"

namespace hearth {
namespace {

[[noreturn]] void Fail(const GgufFile& file, ErrorCode code, const std::string& what) {
  throw Error(code, fmt::format("{}: {}", file.name(), what));
}

// A count from 1 to `most`, which fits 32 bits.
std::uint32_t Size(const GgufFile& file, std::string_view key, std::uint64_t most) {
  return static_cast<std::uint32_t>(RequireUnsigned(file, key, {1, most}));
}

std::uint32_t SizeOr(
    const GgufFile& file, std::string_view key, std::uint64_t most, std::uint32_t otherwise
) {
  return static_cast<std::uint32_t>(FindUnsigned(file, key, {1, most}).value_or(otherwise));
}

// A positive float32, in which a larger or smaller double may have no place.
float Positive(const GgufFile& file, std::string_view key, double value) {
  const float narrow = value > 0 && value < 1e30 ? static_cast<float>(value) : 0.0f;
  if (!(narrow > 0)) {
    Fail(
        file,
        ErrorCode::kCorruptData,
        fmt::format("key '{}' is {}, wanted a positive number", key, value)
    );
  }
  return narrow;
}

void CheckAttention(const GgufFile& file, const LlamaConfig& config) {
  if (config.heads % config.kv_heads != 0) {
    Fail(
        file,
        ErrorCode::kCorruptData,
        fmt::format(
            "{} heads, wanted a multiple of {} key-value heads", config.heads, config.kv_heads
        )
    );
  }
  if (config.rope_dimensions % 2 != 0 || config.rope_dimensions > config.head_dim) {
    Fail(
        file,
        ErrorCode::kCorruptData,
        fmt::format(
            "key 'llama.rope.dimension_count' is {}, wanted an even number up to {}",
            config.rope_dimensions,
            config.head_dim
        )
    );
  }
}

// What would change the answer and is not done here must not be passed over.
void RefuseWhatIsNotDone(const GgufFile& file, const LlamaConfig& config) {
  const auto refuse = [&](std::string_view key, const std::string& got, std::string_view wanted) {
    Fail(file, ErrorCode::kUnsupported, fmt::format("key '{}' is {}, wanted {}", key, got, wanted));
  };
  if (const auto experts = FindUnsigned(file, "llama.expert_count").value_or(0); experts != 0) {
    refuse("llama.expert_count", std::to_string(experts), "0: experts are not supported");
  }
  if (const auto type = FindString(file, "llama.rope.scaling.type").value_or("none");
      type != "none") {
    refuse(
        "llama.rope.scaling.type",
        "'" + Printable(type) + "'",
        "'none': scaled rotation is not supported"
    );
  }
  if (const auto scale = FindFloat(file, "llama.rope.scale_linear").value_or(1); scale != 1) {
    refuse(
        "llama.rope.scale_linear", fmt::format("{}", scale), "1: scaled rotation is not supported"
    );
  }
  const auto window = FindUnsigned(file, "llama.attention.sliding_window").value_or(0);
  if (window != 0 && window < config.context_length) {
    refuse(
        "llama.attention.sliding_window", std::to_string(window), "0: a window is not supported"
    );
  }
  const auto width = FindUnsigned(file, "llama.attention.value_length").value_or(config.head_dim);
  if (width != config.head_dim) {
    refuse(
        "llama.attention.value_length",
        std::to_string(width),
        fmt::format("{} as for keys", config.head_dim)
    );
  }
}

std::uint32_t ReadVocabulary(const GgufFile& file) {
  constexpr std::string_view kKey = "llama.vocab_size";
  const std::uint64_t tokens = FindArrayLength(file, "tokenizer.ggml.tokens").value_or(0);
  const auto stated = FindUnsigned(file, kKey, {1, kMaxVocabulary});
  if (stated && *stated < tokens) {
    Fail(
        file,
        ErrorCode::kCorruptData,
        fmt::format("key '{}' is {}, wanted at least the {} tokens", kKey, *stated, tokens)
    );
  }
  const std::uint64_t vocabulary = stated.value_or(tokens);
  if (vocabulary < 1 || vocabulary > kMaxVocabulary) {
    Fail(
        file,
        ErrorCode::kCorruptData,
        fmt::format("a vocabulary of {} tokens, wanted 1 to {}", vocabulary, kMaxVocabulary)
    );
  }
  return static_cast<std::uint32_t>(vocabulary);
}

}  // namespace

LlamaConfig ReadLlamaConfig(const GgufFile& file) {
  LlamaConfig config;
  config.context_length = Size(file, "llama.context_length", kMaxContextLength);
  config.hidden_size = Size(file, "llama.embedding_length", kMaxModelWidth);
  config.layers = Size(file, "llama.block_count", kMaxModelLayers);
  config.feed_forward = Size(file, "llama.feed_forward_length", kMaxModelWidth);
  config.heads = Size(file, "llama.attention.head_count", kMaxHeads);
  config.kv_heads = SizeOr(file, "llama.attention.head_count_kv", kMaxHeads, config.heads);
  const auto key_length = FindUnsigned(file, "llama.attention.key_length", {1, kMaxHeadDimension});
  if (!key_length && config.hidden_size % config.heads != 0) {
    Fail(
        file,
        ErrorCode::kCorruptData,
        fmt::format(
            "embedding length {}, wanted a multiple of {} heads", config.hidden_size, config.heads
        )
    );
  }
  config.head_dim =
      static_cast<std::uint32_t>(key_length.value_or(config.hidden_size / config.heads));
  if (config.head_dim > kMaxHeadDimension) {
    Fail(
        file,
        ErrorCode::kCorruptData,
        fmt::format("heads of {} values, wanted at most {}", config.head_dim, kMaxHeadDimension)
    );
  }
  constexpr std::string_view kEpsilonKey = "llama.attention.layer_norm_rms_epsilon";
  const auto epsilon = FindFloat(file, kEpsilonKey);
  if (!epsilon) {
    Fail(file, ErrorCode::kCorruptData, fmt::format("key '{}' is missing", kEpsilonKey));
  }
  config.rms_epsilon = Positive(file, kEpsilonKey, *epsilon);
  constexpr std::string_view kBaseKey = "llama.rope.freq_base";
  config.rope_base = Positive(file, kBaseKey, FindFloat(file, kBaseKey).value_or(10000));
  config.rope_dimensions =
      SizeOr(file, "llama.rope.dimension_count", kMaxHeadDimension, config.head_dim);
  config.vocabulary = ReadVocabulary(file);
  CheckAttention(file, config);
  RefuseWhatIsNotDone(file, config);
  return config;
}

}  // namespace hearth
