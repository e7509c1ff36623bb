// A model file from outside: everything that is read before its weights are used, and a first block of each tensor.
// Any bytes must give a sound result or one hearth::Error of one line.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "formats/gguf.h"
#include "formats/gguf_metadata.h"
#include "formats/llama_config.h"
#include "formats/tokenizer_metadata.h"
#include "hearth/error.h"
#include "kernels/dequantize.h"

namespace hearth {
namespace {

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// Runs a step; its error must be one printable line.
template <typename Step>
void Try(Step step) {
  try {
    step();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    Check(!message.empty());
    for (const char c : message) {
      Check(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
  }
}

void ReadEveryValue(const GgufFile& file) {
  for (const GgufEntry& entry : file.metadata()) {
    Check(file.Find(entry.key) == &entry);
    Try([&] { FindUnsigned(file, entry.key); });
    Try([&] { FindFloat(file, entry.key); });
    Try([&] { FindBool(file, entry.key); });
    Try([&] { FindString(file, entry.key); });
    Try([&] { FindFloats(file, entry.key); });
    Try([&] { FindIntegers(file, entry.key); });
    Try([&] {
      const auto strings = FindStrings(file, entry.key);
      Check(strings->size() == entry.count);
    });
  }
}

void ReadFirstBlocks(const GgufFile& file) {
  for (const TensorDescriptor& tensor : file.tensors()) {
    Check(file.FindTensor(tensor.name) == &tensor);
    const std::span<const std::byte> bytes = file.BytesOf(tensor);
    if (!tensor.type) {
      continue;
    }
    const BlockLayout layout = LayoutOf(*tensor.type);
    Check(
        bytes.size() >= layout.bytes && bytes.size() / layout.bytes * layout.values == tensor.values
    );
    std::vector<float> values(layout.values);
    DequantizeRow(*tensor.type, bytes.data(), values.size(), values.data());
    DequantizeRow(*tensor.type, bytes.last(layout.bytes).data(), values.size(), values.data());
  }
}

void ReadModelFile(std::span<const std::byte> bytes) {
  Try([&] {
    const GgufFile file(bytes, "input");
    ReadEveryValue(file);
    ReadFirstBlocks(file);
    Try([&] {
      const TokenizerDescription tokenizer = ReadTokenizer(file);
      Check(!tokenizer.tokens.empty());
      Check(tokenizer.kinds.empty() || tokenizer.kinds.size() == tokenizer.tokens.size());
      Check(!tokenizer.eos || *tokenizer.eos < tokenizer.tokens.size());
    });
    Try([&] {
      const LlamaConfig config = ReadLlamaConfig(file);
      Check(config.heads % config.kv_heads == 0 && config.rope_dimensions <= config.head_dim);
    });
  });
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hearth::ReadModelFile(std::as_bytes(std::span(data, size)));
  return 0;
}
