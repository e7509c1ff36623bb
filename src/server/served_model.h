// The model behind a server: loaded beside the open port, then there for every request.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "hearth/engine.h"
#include "server/api/discovery_body.h"
#include "server/server_metrics.h"
#include "server/server_options.h"

namespace hearth {

// Threads: any.
class ServedModel {
 public:
  explicit ServedModel(const ServerOptions& options);

  // Loads; returns when the model is ready. Called once.
  // Errors: those of Engine.
  void Load();

  // From now on requests are refused; those that run go on.
  void Drain();

  // The engine, or null while there is none. It stays until Close.
  Engine* engine() const { return ready_.load(std::memory_order_acquire); }

  // Ends what runs, waits for it, and frees the model. No request may hold the engine any more.
  void Close();

  api::Health health() const;

  // The engine of a request that may start.
  // Errors: RequestError(503) while loading or draining.
  Engine& RequireEngine() const;

  const std::string& id() const { return id_; }

  api::ModelCard card() const;

  ServerMetrics& metrics() { return *metrics_; }

  void set_metrics(ServerMetrics* metrics) { metrics_ = metrics; }

 private:
  ServerOptions options_;
  std::string id_;
  std::unique_ptr<Engine> engine_;
  std::atomic<Engine*> ready_{nullptr};
  std::atomic<bool> draining_{false};
  ServerMetrics* metrics_ = nullptr;
  std::int64_t created_;
};

}  // namespace hearth
