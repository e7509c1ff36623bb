#include "server/served_model.h"

#include <chrono>
#include <filesystem>
#include <utility>

#include "library/model_directory.h"
#include "server/api/api_error.h"
#include "text/reasoning_parser.h"

namespace hearth {
namespace {

std::string IdOf(const ServerOptions& options) {
  if (!options.model_id.empty()) {
    return options.model_id;
  }
  // The name that a client would write: that of the file, without folder and ending.
  return std::filesystem::path(FindModel(options.engine.model)).stem().string();
}

}  // namespace

ServedModel::ServedModel(const ServerOptions& options)
    : options_(options),
      id_(IdOf(options)),
      created_(
          std::chrono::duration_cast<std::chrono::seconds>(
              std::chrono::system_clock::now().time_since_epoch()
          )
              .count()
      ) {
}

void ServedModel::Load() {
  engine_ = std::make_unique<Engine>(options_.engine);
  if (metrics_ != nullptr) {
    metrics_->SetPages(engine_->model().cache_pages);
  }
  ready_.store(engine_.get(), std::memory_order_release);
}

void ServedModel::Drain() {
  draining_ = true;
}

void ServedModel::Close() {
  ready_.store(nullptr);
  engine_.reset();
}

api::Health ServedModel::health() const {
  if (draining_) {
    return api::Health::kDraining;
  }
  return engine() == nullptr ? api::Health::kLoading : api::Health::kOk;
}

Engine& ServedModel::RequireEngine() const {
  Engine* const engine = this->engine();
  if (engine == nullptr) {
    throw api::RequestError(api::ErrorOf(503, "the model is being loaded; try again soon"));
  }
  if (draining_) {
    throw api::RequestError(api::ErrorOf(503, "the server is shutting down"));
  }
  return *engine;
}

api::ModelCard ServedModel::card() const {
  api::ModelCard card;
  card.id = id_;
  card.created = created_;
  card.defaults = api::MergeSampling({}, options_.sampling, {});
  if (const Engine* engine = this->engine()) {
    const ModelInfo& model = engine->model();
    card.context_length = model.context_length;
    card.vocabulary = model.vocabulary;
    card.parameters = model.parameters;
    card.weight_bytes = model.weight_bytes;
  }
  return card;
}

}  // namespace hearth
