#include "cli/serve_command.h"

#include <fmt/core.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>

#include "platform/job_thread.h"
#include "platform/log.h"
#include "server/server.h"

namespace hearth {
namespace {

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // Wakes the waiting thread when the server has ended by itself.
  sigaddset(&signals, SIGUSR1);
  return signals;
}

// The signals of the end, waited for on a thread of its own: a handler could do nothing that is safe.
class SignalThread {
 public:
  explicit SignalThread(Server& server) : thread_("signals") {
    thread_.Start([this, &server] {
      const sigset_t signals = EndSignals();
      while (true) {
        int signal = 0;
        sigwait(&signals, &signal);
        if (done_) {
          return;
        }
        if (signal != SIGUSR1) {
          Log(LogLevel::kWarning, "stopping: no new requests; once more ends at once");
          server.BeginStop();
        }
      }
    });
  }

  ~SignalThread() {
    done_ = true;
    kill(getpid(), SIGUSR1);
  }

  SignalThread(const SignalThread&) = delete;
  SignalThread& operator=(const SignalThread&) = delete;

 private:
  std::atomic<bool> done_{false};
  JobThread thread_;
};

LogLevel LevelOf(const ServeOptions& options) {
  if (options.quiet) {
    return LogLevel::kError;
  }
  return options.verbose ? LogLevel::kInfo : LogLevel::kWarning;
}

}  // namespace

int RunServe(const ServeOptions& options) {
  // Before any thread is made, so that all inherit it and only one waits.
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  SetLogSink(
      [](LogLevel level, std::string_view line) {
        fmt::print(stderr, "hearth: {}: {}\n", LogLevelName(level), line);
      },
      LevelOf(options)
  );
  Server server(options.server);
  const SignalThread ending(server);
  if (!options.quiet) {
    fmt::print(stderr, "hearth: {}: loading\n", server.url());
  }
  server.Run([&] {
    if (!options.quiet) {
      fmt::print(stderr, "hearth: {}: ready\n", server.url());
    }
  });
  return 0;
}

}  // namespace hearth
