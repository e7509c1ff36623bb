#include "cli/info_command.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "contracts/printable.h"
#include "formats/gguf_metadata.h"
#include "formats/llama_config.h"
#include "formats/tokenizer_metadata.h"
#include "library/model_directory.h"
#include "platform/file_map.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

Json TensorTypes(const GgufFile& file) {
  std::map<std::string, std::pair<std::size_t, std::uint64_t>> types;
  for (const TensorDescriptor& tensor : file.tensors()) {
    auto& [count, values] = types[tensor.type_name];
    ++count;
    values += tensor.values;
  }
  Json out = Json::object();
  for (const auto& [name, sums] : types) {
    out[name] = {{"tensors", sums.first}, {"values", sums.second}};
  }
  return out;
}

Json Shape(const GgufFile& file) {
  const LlamaConfig config = ReadLlamaConfig(file);
  return {
      {"context_length", config.context_length},
      {"layers", config.layers},
      {"hidden_size", config.hidden_size},
      {"feed_forward", config.feed_forward},
      {"heads", config.heads},
      {"kv_heads", config.kv_heads},
      {"head_dim", config.head_dim},
      {"vocabulary", config.vocabulary},
      {"rope_base", config.rope_base},
  };
}

Json Tokenizer(const GgufFile& file) {
  const TokenizerDescription tokenizer = ReadTokenizer(file);
  return {
      {"model", Printable(tokenizer.model)},
      {"pre", Printable(tokenizer.pre)},
      {"tokens", tokenizer.tokens.size()},
      {"chat_template", !tokenizer.chat_template.empty()},
  };
}

// Shows nested objects as indented lines.
void PrintLines(const Json& object, int indent) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      fmt::print("{:{}}{}\n", "", indent, key);
      PrintLines(value, indent + 2);
    } else {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      fmt::print("{:{}}{:<{}} {}\n", "", indent, key, 22 - indent, text);
    }
  }
}

}  // namespace

int RunInfo(const std::string& model, bool json) {
  const FileMap map(FindModel(model.empty() ? kDefaultModel : model));
  const GgufFile file(map.bytes(), map.name());
  const std::string architecture = RequireString(file, "general.architecture");
  Json info = {
      {"file", map.name()},
      {"bytes", map.bytes().size()},
      {"format", fmt::format("GGUF version {}", file.version())},
      {"architecture", Printable(architecture)},
      {"architecture_supported", architecture == "llama"},
  };
  for (const char* key : {"name", "license"}) {
    if (const auto text = FindString(file, std::string("general.") + key)) {
      info[key] = Printable(*text);
    }
  }
  if (architecture == "llama") {
    info["shape"] = Shape(file);
  }
  if (file.Find("tokenizer.ggml.model") != nullptr) {
    info["tokenizer"] = Tokenizer(file);
  }
  info["tensors"] = TensorTypes(file);
  std::uint64_t parameters = 0;
  for (const TensorDescriptor& tensor : file.tensors()) {
    parameters += tensor.values;
  }
  info["parameters"] = parameters;
  if (json) {
    fmt::print("{}\n", info.dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    PrintLines(info, 0);
  }
  return 0;
}

}  // namespace hearth
