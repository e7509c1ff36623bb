// Host check, CORS and API keys in the order in which a request meets them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/api_keys.h"
#include "server/http/cors_policy.h"
#include "server/http/host_policy.h"
#include "server/http/http_message.h"

namespace hearth {

// Threads: const after construction.
class AccessPolicy {
 public:
  // `open_paths` need no key ("/health"); the others do once there are keys.
  AccessPolicy(
      HostPolicy hosts, CorsPolicy cors, ApiKeys keys, std::vector<std::string> open_paths
  );

  // For HttpService::Admit. 403 for a host or origin that may not, 204 without a message for a preflight that may, 401 for
  // a key that is missing or wrong.
  std::optional<HttpRefusal> Admit(const HttpRequest& head) const;

  // For HttpService::AddHeaders.
  void AddHeaders(const HttpRequest& head, HttpHeaders& headers) const;

 private:
  HostPolicy hosts_;
  CorsPolicy cors_;
  ApiKeys keys_;
  std::vector<std::string> open_paths_;
};

}  // namespace hearth
