#include "server/http/cors_policy.h"

#include <algorithm>

#include "contracts/printable.h"
#include "hearth/error.h"
#include "server/http/host_policy.h"
#include "server/http/request_target.h"

namespace hearth {
namespace {

constexpr std::string_view kMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
constexpr std::string_view kExposed = "X-Request-Id, Retry-After, Warning";
constexpr std::size_t kMostRequestedBytes = 4096;

struct Origin {
  std::string_view scheme;
  std::string_view authority;
};

// nullopt for "null" and everything else that is not scheme://host[:port].
std::optional<Origin> Split(std::string_view text) {
  const std::size_t mark = text.find("://");
  if (mark == text.npos) {
    return std::nullopt;
  }
  const Origin origin{text.substr(0, mark), text.substr(mark + 3)};
  const bool web =
      EqualsIgnoringCase(origin.scheme, "http") || EqualsIgnoringCase(origin.scheme, "https");
  // Extensions of browsers and desktop shells have schemes of their own; their hosts are names like any.
  const bool other = !origin.scheme.empty() && IsHttpToken(origin.scheme);
  if (!(web || other) || !IsAuthority(origin.authority)) {
    return std::nullopt;
  }
  return origin;
}

bool IsLoopbackOrigin(std::string_view text) {
  const auto origin = Split(text);
  return origin &&
         (EqualsIgnoringCase(origin->scheme, "http") ||
          EqualsIgnoringCase(origin->scheme, "https")) &&
         IsLoopbackName(HostName(origin->authority));
}

// What a page may ask to send: names of headers, and nothing else.
bool IsHeaderList(std::string_view text) {
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
    name = name.substr(0, name.find_last_not_of(" \t") + 1);
    if (!IsHttpToken(name)) {
      return false;
    }
  }
  return true;
}

}  // namespace

CorsPolicy::CorsPolicy(const CorsOptions& options) : credentials_(options.credentials) {
  for (const std::string& origin : options.origins) {
    if (origin == "*") {
      any_ = true;
    } else if (!Split(origin)) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "allowed origin: got " + Printable(origin) + ", wanted scheme://host[:port] or *"
      );
    } else {
      origins_.push_back(origin);
    }
  }
  if (any_ && credentials_) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "allowed origin: got * with credentials, wanted a list of origins or no credentials"
    );
  }
}

bool CorsPolicy::IsListed(std::string_view origin) const {
  return IsLoopbackOrigin(origin) ||
         std::any_of(origins_.begin(), origins_.end(), [&](const std::string& listed) {
           return EqualsIgnoringCase(listed, origin);
         });
}

CorsPolicy::Verdict CorsPolicy::Check(const HttpRequest& request) const {
  const auto origins = request.headers.All("origin");
  if (origins.empty()) {
    return Verdict::kSame;
  }
  if (origins.size() > 1) {
    return Verdict::kRefused;
  }
  const std::string* const host = request.headers.First("host");
  if (host != nullptr && EqualsIgnoringCase(origins.front(), "http://" + *host)) {
    return Verdict::kSame;
  }
  return any_ || IsListed(origins.front()) ? Verdict::kAllowed : Verdict::kRefused;
}

bool CorsPolicy::IsPreflight(const HttpRequest& request) {
  return request.method == "OPTIONS" && request.headers.Has("origin") &&
         request.headers.Has("access-control-request-method");
}

HttpHeaders CorsPolicy::PreflightHeaders(const HttpRequest& request) const {
  HttpHeaders headers{
      {"Access-Control-Allow-Methods", std::string(kMethods)}, {"Access-Control-Max-Age", "600"}
  };
  const std::string* const requested = request.headers.First("access-control-request-headers");
  if (requested != nullptr && requested->size() <= kMostRequestedBytes &&
      IsHeaderList(*requested)) {
    headers.Add("Access-Control-Allow-Headers", *requested);
  }
  if (request.headers.Has("access-control-request-private-network")) {
    headers.Add("Access-Control-Allow-Private-Network", "true");
  }
  return headers;
}

void CorsPolicy::AddHeaders(const HttpRequest& request, HttpHeaders& headers) const {
  headers.Add("Vary", "Origin");
  if (Check(request) != Verdict::kAllowed) {
    return;
  }
  const std::string& origin = *request.headers.First("origin");
  const bool listed = IsListed(origin);
  headers.Add("Access-Control-Allow-Origin", listed ? origin : "*");
  if (listed && credentials_) {
    headers.Add("Access-Control-Allow-Credentials", "true");
  }
  headers.Add("Access-Control-Expose-Headers", std::string(kExposed));
}

}  // namespace hearth
