// A stream of server-sent events. What the parser makes of any bytes must not depend on where they are cut, and its events,
// written again, must be read as the same events.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/sse.h"

namespace hearth::api {
namespace {

using Events = std::vector<SseParser::Event>;

void Check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

Events Parse(std::string_view bytes, std::size_t piece) {
  SseParser parser;
  Events events;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    for (auto& event : parser.Push(bytes.substr(at, piece))) {
      events.push_back(std::move(event));
    }
  }
  return events;
}

}  // namespace
}  // namespace hearth::api

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hearth::api;  // NOLINT(google-build-using-namespace)
  const std::string bytes(data, data + size);
  const Events events = Parse(bytes, bytes.size() + 1);
  Check(Parse(bytes, 1) == events);
  Check(Parse(bytes, 3) == events);
  std::string written;
  for (const auto& event : events) {
    written += SseComment("between") + SseEvent(event.data, event.name);
  }
  Check(Parse(written, 5) == events);
  return 0;
}
