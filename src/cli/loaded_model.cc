#include "cli/loaded_model.h"

#include <cstdlib>

#include "cli/model_directory.h"
#include "contracts/error.h"
#include "contracts/printable.h"
#include "models/gguf_model.h"
#include "tensor/cpu_backend.h"

namespace hearth {
namespace {

std::string ForcedIsa(const EngineOptions& options) {
  const char* variable = std::getenv("HEARTH_ISA");
  return !options.isa.empty() || variable == nullptr ? options.isa : variable;
}

Numerics NumericsOf(const EngineOptions& options) {
  for (const Numerics numerics : {Numerics::kDefault, Numerics::kF32}) {
    if (options.numerics == NumericsName(numerics)) {
      return numerics;
    }
  }
  throw Error(
      ErrorCode::kInvalidArgument,
      "numerics: got '" + Printable(options.numerics) + "', wanted default or f32"
  );
}

}  // namespace

LoadedModel::LoadedModel(const EngineOptions& options)
    : map_(FindModel(options.model.empty() ? kDefaultModel : options.model)),
      file_(map_.bytes(), map_.name()),
      weights_(map_, file_),
      kernels_(KernelsFor(ChooseIsa(ForcedIsa(options)))),
      team_(options.threads == 0 ? UsableCores() : options.threads) {
  backend_ = MakeCpuBackend(kernels_, NumericsOf(options), team_);
  model_ = MakeGgufModel(file_, weights_, *backend_);
  load_seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

}  // namespace hearth
