// The Host check: which names a server may be called by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"

namespace hearth {

// "localhost:8080" -> "localhost", "[::1]:80" -> "[::1]", "Host." -> "host": lower case, no port, no last dot.
std::string HostName(std::string_view authority);

// localhost, 127.0.0.1 and [::1].
bool IsLoopbackName(std::string_view host_name);

// A page of the web can point a name of its own at 127.0.0.1 and would then speak to a local server as its own origin (DNS rebinding).
// Its Host header gives it away: a server on a loopback address answers only to loopback names, to the address itself
// and to those that it was told. A server on another address has names that it cannot know, and checks only when it was
// told some. Ports do not matter.
// Threads: const after construction.
// Errors:  kInvalidArgument for an entry of the list that is no host name.
class HostPolicy {
 public:
  // `allowed`: host names; "*" allows all.
  HostPolicy(std::string address, bool loopback, const std::vector<std::string>& allowed);

  // A request without Host can only be HTTP/1.0, which no browser speaks.
  bool Allows(const HttpRequest& request) const;

 private:
  bool checks_ = false;
  std::vector<std::string> names_;
};

}  // namespace hearth
