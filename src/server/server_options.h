// How a server is run: where it listens, who may ask, what requests get that say nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/engine_options.h"
#include "server/api/sampling_fields.h"
#include "server/http/cors_policy.h"
#include "server/http/http_limits.h"

namespace hearth {

struct ServerOptions {
  EngineOptions engine{};
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;  // 0: the system picks one
  std::string model_id{};     // the name that clients see; empty: that of the file

  std::vector<std::string> api_keys{};
  std::string api_key_file{};                // one key a line; empty: none
  std::vector<std::string> allowed_hosts{};  // beside the loopback names; "*" allows all
  CorsOptions cors{};
  HttpLimits http{};
  std::size_t io_threads = 1;

  api::SamplingFields sampling{};             // of requests that say nothing
  std::optional<std::uint64_t> max_tokens{};  // the same; nothing: what the context leaves
  std::optional<bool> thinking{};             // the same, of templates that know enable_thinking

  std::chrono::milliseconds heartbeat{5'000};  // a comment in a stream that has nothing else to say
  std::chrono::milliseconds shutdown_timeout{
      30'000
  };  // how long running requests may go on after SIGTERM
  bool log_prompts = false;
};

}  // namespace hearth
