// Cross-origin requests: which pages of the web may ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"

namespace hearth {

struct CorsOptions {
  // "https://chat.example", with the port if it is not the scheme's own; "*" allows every page, and then never with credentials.
  // Pages of loopback hosts (any port) are always allowed.
  std::vector<std::string> origins;
  bool credentials = false;  // cookies and the like, for origins that are listed
};

// Threads: const after construction.
// Errors:  kInvalidArgument for an entry that is no origin, and for "*" together with credentials.
class CorsPolicy {
 public:
  explicit CorsPolicy(const CorsOptions& options);

  enum class Verdict {
    kSame,     // no Origin header, or the server's own
    kAllowed,  // another origin that may
    kRefused,
  };

  // A browser sends simple cross-origin requests without asking first and only hides the answer; so a refused one must
  // not be carried out either.
  Verdict Check(const HttpRequest& request) const;

  // Whether it asks beforehand: OPTIONS with Origin and Access-Control-Request-Method.
  static bool IsPreflight(const HttpRequest& request);

  // The headers of the 204 that answers an allowed preflight, besides those of AddHeaders. It needs no API key: browsers send none.
  HttpHeaders PreflightHeaders(const HttpRequest& request) const;

  // What lets a page read an answer; for every answer to the request.
  void AddHeaders(const HttpRequest& request, HttpHeaders& headers) const;

 private:
  bool IsListed(std::string_view origin) const;

  bool any_ = false;
  bool credentials_ = false;
  std::vector<std::string> origins_;
};

}  // namespace hearth
