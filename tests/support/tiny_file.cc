#include "support/tiny_file.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/gguf_writer.h"
#include "support/tiny_llama.h"
#include "support/tiny_vocabulary.h"

namespace hearth {
namespace {

constexpr const char* kTemplate =
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";

void AddConfig(GgufWriter& writer, const LlamaConfig& config) {
  writer.String("general.architecture", "llama")
      .Uint32("llama.context_length", static_cast<std::uint32_t>(config.context_length))
      .Uint32("llama.embedding_length", static_cast<std::uint32_t>(config.hidden_size))
      .Uint32("llama.block_count", static_cast<std::uint32_t>(config.layers))
      .Uint32("llama.feed_forward_length", static_cast<std::uint32_t>(config.feed_forward))
      .Uint32("llama.attention.head_count", static_cast<std::uint32_t>(config.heads))
      .Uint32("llama.attention.head_count_kv", static_cast<std::uint32_t>(config.kv_heads))
      .Uint32("llama.rope.dimension_count", static_cast<std::uint32_t>(config.rope_dimensions))
      .Uint32("llama.vocab_size", static_cast<std::uint32_t>(config.vocabulary))
      .Float32("llama.attention.layer_norm_rms_epsilon", config.rms_epsilon)
      .Float32("llama.rope.freq_base", static_cast<float>(config.rope_base));
}

void AddVocabulary(GgufWriter& writer, std::size_t size) {
  TinyVocabulary vocabulary("smollm");
  for (const char* special : {"<|end|>", "<|user|>", "<|assistant|>"}) {
    vocabulary.Add(special, TokenKind::kControl);
  }
  while (vocabulary.description.tokens.size() < size) {
    vocabulary.Add(
        "<|unused" + std::to_string(vocabulary.description.tokens.size()) + "|>",
        TokenKind::kControl
    );
  }
  std::vector<std::int32_t> kinds;
  for (const TokenKind kind : vocabulary.description.kinds) {
    kinds.push_back(kind == TokenKind::kControl ? 3 : 1);
  }
  writer.String("tokenizer.ggml.model", "gpt2")
      .String("tokenizer.ggml.pre", "smollm")
      .Strings("tokenizer.ggml.tokens", vocabulary.description.tokens)
      .Ints("tokenizer.ggml.token_type", kinds)
      .Strings("tokenizer.ggml.merges", {})
      .Uint32("tokenizer.ggml.eos_token_id", kTinyEnd);
}

}  // namespace

void WriteTinyModel(const std::filesystem::path& path, const TinyFileOptions& options) {
  const TinyLlama model(TinyMix::kLegacy, 7);
  GgufWriter writer;
  AddConfig(writer, model.config());
  if (options.vocabulary) {
    AddVocabulary(writer, model.config().vocabulary);
  }
  if (options.chat_template) {
    writer.String("tokenizer.chat_template", kTemplate);
  }
  for (const std::string& name : model.Names()) {
    const WeightView weight = *model.Find(name);
    std::vector<std::uint64_t> dims{weight.columns};
    if (weight.rows > 1) {
      dims.push_back(weight.rows);
    }
    writer.Tensor(name, weight.type, std::move(dims), weight.data);
  }
  writer.WriteTo(path);
}

}  // namespace hearth
