#include "server/http/host_policy.h"

#include <algorithm>
#include <utility>

#include "contracts/printable.h"
#include "hearth/error.h"
#include "server/http/request_target.h"

namespace hearth {

std::string HostName(std::string_view authority) {
  const std::size_t bracket = authority.find(']');
  const std::size_t end =
      bracket == authority.npos ? std::min(authority.find(':'), authority.size()) : bracket + 1;
  std::string name(authority.substr(0, end));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (name.size() > 1 && name.back() == '.') {
    name.pop_back();
  }
  return name;
}

bool IsLoopbackName(std::string_view host_name) {
  return host_name == "localhost" || host_name == "127.0.0.1" || host_name == "[::1]";
}

HostPolicy::HostPolicy(
    std::string address, bool loopback, const std::vector<std::string>& allowed
) {
  const bool any = std::find(allowed.begin(), allowed.end(), "*") != allowed.end();
  checks_ = !any && (loopback || !allowed.empty());
  for (const std::string& name : allowed) {
    if (name != "*" && !IsAuthority(name)) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "allowed host: got " + Printable(name) + ", wanted a host name"
      );
    }
    names_.push_back(HostName(name));
  }
  names_.push_back(address.find(':') == address.npos ? address : "[" + address + "]");
}

bool HostPolicy::Allows(const HttpRequest& request) const {
  const std::string* const host = request.headers.First("host");
  if (!checks_ || host == nullptr) {
    return true;
  }
  const std::string name = HostName(*host);
  return IsLoopbackName(name) || std::find(names_.begin(), names_.end(), name) != names_.end();
}

}  // namespace hearth
