// `hearth serve`: the server on the terminal or under a supervisor.
#pragma once

#include "server/server_options.h"

namespace hearth {

struct ServeOptions {
  ServerOptions server{};
  bool verbose = false;  // one line a request on standard error
  bool quiet = false;    // errors only
};

// Serves until SIGTERM or SIGINT; a second one ends at once.
// Errors: those of Server.
int RunServe(const ServeOptions& options);

}  // namespace hearth
