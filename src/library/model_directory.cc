#include "library/model_directory.h"

#include <cstdlib>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

constexpr const char* kDefaultFile = "SmolLM2-135M-Instruct.Q4_1";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::filesystem::path HearthHome() {
  if (std::string home = Variable("HEARTH_HOME"); !home.empty()) {
    return home;
  }
  if (const std::string cache = Variable("XDG_CACHE_HOME"); !cache.empty()) {
    return std::filesystem::path(cache) / "hearth";
  }
  if (const std::string home = Variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".cache" / "hearth";
  }
  throw Error(ErrorCode::kNotFound, "models: set HEARTH_HOME, there is no home folder");
}

std::filesystem::path FindModel(const std::string& model) {
  std::error_code ignored;
  const bool named = model.find('/') == std::string::npos;
  // A folder of the same name does not hide an installed model; as a path it gets the message of its own.
  if (std::filesystem::exists(model, ignored) &&
      !(named && std::filesystem::is_directory(model, ignored))) {
    return model;
  }
  const std::filesystem::path folder = HearthHome() / "models";
  const std::filesystem::path file =
      folder / ((model == kDefaultModel ? kDefaultFile : model) + std::string(".gguf"));
  if (named && std::filesystem::exists(file, ignored)) {
    return file;
  }
  std::string message = "model '" + Printable(model) + "': no such file";
  if (named) {
    message += ", and no " + file.string();
  }
  if (model == kDefaultModel) {
    message += "; `make run` fetches it";
  } else if (named && model.find(' ') != std::string::npos) {
    message += "; the first argument is the model: hearth run smollm2 \"...\"";
  }
  throw Error(ErrorCode::kNotFound, message);
}

}  // namespace hearth
