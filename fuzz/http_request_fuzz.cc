// The bytes of a connection: request after request. The first byte says how the rest is cut into pieces, and the cut must
// change nothing: neither what is refused, nor where a request ends, nor what it says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_limits.h"
#include "server/http/request_parser.h"

namespace hearth {
namespace {

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

HttpLimits SmallLimits() {
  HttpLimits limits;
  limits.max_request_line_bytes = 200;
  limits.max_head_bytes = 1000;
  limits.max_headers = 10;
  limits.max_body_bytes = 500;
  limits.max_chunk_framing_bytes = 300;
  return limits;
}

// What came of a request, as text.
std::string Outcome(RequestParser& parser) {
  if (parser.state() == RequestParser::State::kFault) {
    const HttpFault& fault = parser.fault();
    Check(fault.status >= 400 && fault.status <= 599 && !fault.message.empty());
    for (const char c : fault.message) {
      Check(c >= 0x20 && c < 0x7f);
    }
    // Which limit a chunk's line passes first may depend on the cut, as does whether its faults are seen before.
    return "fault";
  }
  const HttpRequest& request = parser.request();
  Check(request.path == "*" || request.path.starts_with('/'));
  Check((request.path + "/").find("/../") == std::string::npos);
  Check(request.path.find('\0') == std::string::npos);
  Check(request.body.size() <= SmallLimits().max_body_bytes);
  Check(request.headers.size() <= SmallLimits().max_headers);
  std::string text = request.method + " " + request.path + " " + request.raw_query;
  for (const HttpHeader& header : request.headers) {
    Check(header.name.find_first_of("\r\n: ") == std::string::npos);
    Check(header.value.find_first_of("\r\n") == std::string::npos);
    text += "\n" + header.name + ":" + header.value;
  }
  return text + "\n\n" + request.body + (parser.keep_alive() ? "+" : "-");
}

std::vector<std::string> ReadRequests(std::string_view bytes, std::size_t step) {
  const HttpLimits limits = SmallLimits();
  std::vector<std::string> outcomes;
  std::string held;
  auto parser = std::make_unique<RequestParser>(limits);
  while (!bytes.empty()) {
    const std::size_t count = std::min(step, bytes.size());
    held += bytes.substr(0, count);
    bytes.remove_prefix(count);
    for (std::size_t used = 1; used > 0 && !held.empty();) {
      const auto state = parser->state();
      used = parser->Feed(held);
      Check(used <= held.size());
      held.erase(0, used);
      if (parser->state() == RequestParser::State::kFault) {
        outcomes.push_back(Outcome(*parser));
        return outcomes;
      }
      if (parser->state() == RequestParser::State::kDone) {
        outcomes.push_back(Outcome(*parser));
        parser = std::make_unique<RequestParser>(limits);
        used = 1;
      } else if (parser->state() != state) {
        used = 1;
      }
    }
    Check(held.size() <= limits.max_chunk_framing_bytes);
  }
  return outcomes;
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  std::string bytes;
  for (std::size_t i = 1; i < size; ++i) {
    bytes.push_back(static_cast<char>(data[i]));
  }
  const auto whole = hearth::ReadRequests(bytes, bytes.size() + 1);
  const auto cut = hearth::ReadRequests(bytes, std::size_t{1} + data[0] % 16);
  hearth::Check(whole == cut);
  return 0;
}
