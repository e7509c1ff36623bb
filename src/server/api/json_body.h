// JSON between bytes and values, with the limits of a server: what comes in is bounded before it is built, what goes out
// can always be written.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace hearth::api {

// Keys keep their order: chat templates print what clients send.
using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::size_t depth = 64;  // arrays and objects within each other
  std::size_t values =
      1u << 20;  // of any kind, all together: a value costs up to about 100 bytes of memory
  std::size_t object_keys = 65536;  // of one object
};

// The JSON value of a request's body, which must be one UTF-8 text.
// Errors: RequestError(400) in one line with the byte's place: no JSON, not UTF-8, a number past the range of doubles, a
//         key twice in one object (two readers could each see another one), a limit passed.
// Cost:   two passes: depth and sizes are counted before anything is built.
Json ParseJson(std::string_view bytes, const JsonLimits& limits = {});

// As above, for a route that takes an object. An empty body is named as such.
Json ParseBody(std::string_view bytes, const JsonLimits& limits = {});

// One line of JSON. Bytes that are not UTF-8 become U+FFFD, so that no text can make it throw.
std::string DumpJson(const Json& value);

// The shortest decimal number that reads back as the same float, for JSON: 0.1f becomes 0.1.
double ShortNumber(float value);

}  // namespace hearth::api
