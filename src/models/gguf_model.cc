#include "models/gguf_model.h"

#include "contracts/printable.h"
#include "formats/gguf_metadata.h"
#include "formats/llama_config.h"
#include "hearth/error.h"
#include "models/llama.h"
#include "tensor/sizing_backend.h"

namespace hearth {

std::unique_ptr<LanguageModel> MakeGgufModel(
    const GgufFile& file, const WeightSource& weights, Backend& backend
) {
  const std::string architecture = RequireString(file, "general.architecture");
  if (architecture == "llama") {
    return MakeLlama(ReadLlamaConfig(file), weights, backend);
  }
  throw Error(
      ErrorCode::kUnsupported,
      file.name() + ": architecture '" + Printable(architecture) + "', wanted llama"
  );
}

ModelFacts GgufModelFacts(
    const GgufFile& file, const WeightSource& weights, Numerics numerics, std::size_t members
) {
  const std::unique_ptr<Backend> backend = MakeSizingBackend(numerics, members);
  return MakeGgufModel(file, weights, *backend)->facts();
}

}  // namespace hearth
