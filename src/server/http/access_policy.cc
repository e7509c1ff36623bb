#include "server/http/access_policy.h"

#include <algorithm>
#include <utility>

namespace hearth {

AccessPolicy::AccessPolicy(
    HostPolicy hosts, CorsPolicy cors, ApiKeys keys, std::vector<std::string> open_paths
)
    : hosts_(std::move(hosts)),
      cors_(std::move(cors)),
      keys_(std::move(keys)),
      open_paths_(std::move(open_paths)) {
}

std::optional<HttpRefusal> AccessPolicy::Admit(const HttpRequest& head) const {
  if (!hosts_.Allows(head)) {
    return HttpRefusal{403, "the Host header names a host that this server does not answer to", {}};
  }
  if (cors_.Check(head) == CorsPolicy::Verdict::kRefused) {
    return HttpRefusal{403, "pages of this origin may not use this server", {}};
  }
  if (CorsPolicy::IsPreflight(head)) {
    return HttpRefusal{204, "", cors_.PreflightHeaders(head)};
  }
  if (std::find(open_paths_.begin(), open_paths_.end(), head.path) != open_paths_.end()) {
    return std::nullopt;
  }
  switch (keys_.Check(head.headers)) {
    case ApiKeys::Verdict::kGranted:
      return std::nullopt;
    case ApiKeys::Verdict::kMissing:
      return HttpRefusal{
          401,
          "this server wants an API key: Authorization: Bearer KEY",
          {{"WWW-Authenticate", "Bearer"}}
      };
    case ApiKeys::Verdict::kWrong:
      return HttpRefusal{
          401, "the API key is not one of this server's", {{"WWW-Authenticate", "Bearer"}}
      };
  }
  return std::nullopt;
}

void AccessPolicy::AddHeaders(const HttpRequest& head, HttpHeaders& headers) const {
  if (hosts_.Allows(head)) {
    cors_.AddHeaders(head, headers);
  }
}

}  // namespace hearth
