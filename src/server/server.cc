#include "server/server.h"

#include <atomic>
#include <optional>
#include <utility>

#include "platform/log.h"
#include "server/http/http_server.h"
#include "server/served_model.h"
#include "server/server_metrics.h"
#include "server/server_service.h"

namespace hearth {
namespace {

AccessPolicy PolicyOf(const ServerOptions& options, const HttpListener& listener) {
  ApiKeys keys;
  for (const std::string& key : options.api_keys) {
    keys.Add(key);
  }
  if (!options.api_key_file.empty()) {
    keys.AddFile(options.api_key_file);
  }
  return AccessPolicy(
      HostPolicy(listener.address(), listener.loopback(), options.allowed_hosts),
      CorsPolicy(options.cors),
      std::move(keys),
      {"/health", "/health/live", "/health/ready"}
  );
}

}  // namespace

struct Server::State {
  explicit State(const ServerOptions& made)
      : options(made),
        listener(options.host, options.port),
        url(listener.url()),
        model(options),
        metrics(
            model.id(),
            [this]() -> std::optional<EngineSnapshot> {
              const Engine* const engine = model.engine();
              return engine != nullptr ? std::optional(engine->Gauges()) : std::nullopt;
            },
            [this] { return serving ? http->counters() : HttpCounters{}; }
        ),
        service(options, model, PolicyOf(options, listener)) {
    model.set_metrics(&metrics);
    http.emplace(std::move(listener), service, HttpServerOptions{options.io_threads, options.http});
    serving = true;
  }

  ServerOptions options;
  HttpListener listener;
  std::string url;
  ServedModel model;
  std::atomic<bool> serving{false};
  std::atomic<int> stops{0};
  ServerMetrics metrics;
  ServerService service;
  std::optional<HttpServer> http;  // ends first
};

Server::Server(const ServerOptions& options) : state_(std::make_unique<State>(options)) {
}

Server::~Server() = default;

std::string Server::url() const {
  return state_->url;
}

void Server::Run(const std::function<void()>& ready) {
  State& s = *state_;
  try {
    s.model.Load();
  } catch (...) {
    s.http->Stop(std::chrono::milliseconds(0));
    throw;
  }
  if (s.stops == 0) {
    ready();
  }
  s.http->Wait();
  s.model.Close();
}

void Server::BeginStop() {
  State& s = *state_;
  const bool again = s.stops++ > 0;
  s.model.Drain();
  s.http->BeginStop(again ? std::chrono::milliseconds(0) : s.options.shutdown_timeout);
}

}  // namespace hearth
