#include "cli/serve_flags.h"

#include <chrono>
#include <string>

#include "cli/byte_size.h"

namespace hearth {
namespace {

void AddSeconds(
    CLI::App& command,
    const std::string& name,
    std::chrono::milliseconds& value,
    const std::string& help
) {
  const double seconds = std::chrono::duration<double>(value).count();
  command
      .add_option_function<double>(
          name,
          [&value](double given) {
            value = std::chrono::milliseconds(static_cast<std::int64_t>(given * 1e3));
          },
          help
      )
      ->check(CLI::Range(0.001, 86'400.0))
      ->default_str(CLI::detail::to_string(seconds))
      ->type_name("SECONDS");
}

void AddLimits(CLI::App& command, EngineOptions& engine) {
  command.add_option("--batch", engine.batch, "Requests that are computed at once")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--queue", engine.queue, "Requests that wait; more get 429")
      ->check(CLI::Range(0, 65'536))
      ->capture_default_str();
  command
      .add_option(
          "--step-tokens", engine.step_tokens, "Tokens of a step while answers are being written"
      )
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  command
      .add_option("--prefill-tokens", engine.prefill_tokens, "Tokens of a step of prompts alone")
      ->check(CLI::Range(1, 8192))
      ->capture_default_str();
  command.add_flag(
      "--no-prompt-cache{false},--prompt-cache{true}",
      engine.prompt_cache,
      "Whether requests share the prefixes of their prompts (default: they do)"
  );
}

// Ranges are those of a request's fields.
void AddDefaults(CLI::App& command, ServerOptions& server) {
  const std::string who = " of requests that say nothing";
  command.add_option("--max-tokens", server.max_tokens, "Longest answer" + who)
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
  command.add_option("--temperature", server.sampling.temperature, "Temperature" + who)
      ->check(CLI::Range(0.0, 100.0))
      ->default_str(CLI::detail::to_string(api::kBuiltInTemperature));
  command.add_option("--top-p", server.sampling.top_p, "top_p" + who)->check(CLI::Range(0.0, 1.0));
  command.add_option("--top-k", server.sampling.top_k, "top_k" + who);
  command.add_option("--min-p", server.sampling.min_p, "min_p" + who)->check(CLI::Range(0.0, 1.0));
  command.add_flag(
      "--thinking{true},--no-thinking{false}",
      server.thinking,
      "Whether templates that know enable_thinking think" + who
  );
}

void AddAccess(CLI::App& command, ServerOptions& server) {
  command.add_option("--api-key", server.api_keys, "A key that requests must carry; repeatable")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--api-key-file", server.api_key_file, "A file with one key a line");
  command
      .add_option(
          "--allow-host",
          server.allowed_hosts,
          "A name that the server may be called by, besides those of this machine; repeatable"
      )
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option(
          "--allow-origin",
          server.cors.origins,
          "A web origin whose pages may ask, besides those of this machine; repeatable; * is all"
      )
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_flag("--log-prompts", server.log_prompts, "Write prompts to the log");
}

}  // namespace

void AddServeFlags(CLI::App& command, ServeOptions& options) {
  ServerOptions& server = options.server;
  command.add_option("--host", server.host, "Address to listen on")->capture_default_str();
  command.add_option("--port", server.port, "Port to listen on (0: the system picks one)")
      ->check(CLI::Range(0, 65'535))
      ->capture_default_str();
  command.add_option(
      "--model-id", server.model_id, "The model's name for clients (default: the file's)"
  );
  AddAccess(command, server);
  AddLimits(command, server.engine);
  AddDefaults(command, server);
  command
      .add_option_function<std::string>(
          "--max-body",
          [&server](const std::string& text) {
            server.http.max_body_bytes = ParseByteSize(text, "--max-body");
          },
          "Largest body of a request"
      )
      ->default_str("32M")
      ->type_name("SIZE");
  command.add_option("--max-connections", server.http.max_connections, "Connections at once")
      ->check(CLI::Range(1, 65'536))
      ->capture_default_str();
  command.add_option("--io-threads", server.io_threads, "Threads that speak HTTP")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  AddSeconds(
      command,
      "--shutdown-timeout",
      server.shutdown_timeout,
      "How long answers may go on after SIGTERM"
  );
  AddSeconds(
      command, "--heartbeat", server.heartbeat, "How often a stream says that it is still there"
  );
  AddSeconds(
      command,
      "--idle-timeout",
      server.engine.idle_timeout,
      "How long a reader may take nothing of its answer"
  );
  command.add_flag("--verbose", options.verbose, "One line a request on standard error");
  command.add_flag("--quiet", options.quiet, "Errors only");
}

}  // namespace hearth
