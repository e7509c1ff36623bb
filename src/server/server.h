// The whole server: port, model, routes, and an orderly end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/server_options.h"

namespace hearth {

// Takes the port first and answers /health and /metrics while the model loads, then everything.
// Threads: BeginStop from any thread, also while Run loads or waits; not from a signal handler.
class Server {
 public:
  // Errors: kIo in one line when the port is in use; kInvalidArgument for options that make no sense; kNotFound when there
  //         is no such model. Nothing has been loaded then.
  explicit Server(const ServerOptions& options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // "http://127.0.0.1:8080"
  std::string url() const;

  // Loads the model, calls `ready`, serves until BeginStop, and ends everything.
  // Errors: those of loading, after the port was closed again.
  void Run(const std::function<void()>& ready);

  // Admits no more; running requests go on for options.shutdown_timeout, then they are cut off. A second call cuts them off
  // now.
  void BeginStop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
