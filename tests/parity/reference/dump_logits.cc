// Prints the bits of a model's logits on every instruction set of this machine, for test_reference.py.
//
// usage: dump_logits MODEL TOKENS POSITIONS      numbers with commas between
// A line for each instruction set and position: name, position, then the logits (float32) in hexadecimal.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "models/gguf_model.h"
#include "models/gguf_weights.h"
#include "tensor/cpu_backend.h"

namespace hearth {
namespace {

std::vector<TokenId> Numbers(const std::string& text) {
  std::vector<TokenId> numbers;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    numbers.push_back(static_cast<TokenId>(std::stoul(part)));
  }
  return numbers;
}

void Dump(
    Isa isa,
    const std::string& path,
    const std::vector<TokenId>& tokens,
    const std::vector<TokenId>& positions
) {
  const FileMap map(path);
  const GgufFile file(map.bytes(), map.name());
  const GgufWeights weights(map, file);
  WorkerTeam team(1);
  const auto backend = MakeCpuBackend(KernelsFor(isa), Numerics::kDefault, team);
  const auto model = MakeGgufModel(file, weights, *backend);
  PagePool pool(model->facts().kv, tokens.size() / kPageTokens + 1);
  KvSequence sequence(pool);
  const std::size_t vocabulary = model->facts().vocabulary;
  std::vector<float> logits(tokens.size() * vocabulary);
  const ForwardRow row{&sequence, tokens, LogitSelection::kAll};
  model->Forward({&row, 1}, logits.data());
  for (const TokenId position : positions) {
    fmt::print("{} {}", IsaName(isa), position);
    for (std::size_t i = 0; i < vocabulary; ++i) {
      fmt::print(" {:08x}", std::bit_cast<std::uint32_t>(logits.at(position * vocabulary + i)));
    }
    fmt::print("\n");
  }
}

}  // namespace
}  // namespace hearth

int main(int count, char** arguments) {
  if (count != 4) {
    fmt::print(stderr, "usage: dump_logits MODEL TOKENS POSITIONS\n");
    return 2;
  }
  try {
    for (const hearth::Isa isa : hearth::AttainableIsas()) {
      hearth::Dump(isa, arguments[1], hearth::Numbers(arguments[2]), hearth::Numbers(arguments[3]));
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "dump_logits: {}\n", error.what());
    return 1;
  }
  return 0;
}
