#include "cli/byte_size.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

constexpr double kEndOfSizes = static_cast<double>(std::size_t{1} << 60);

// 0 for what is no unit.
double UnitOf(std::string_view text) {
  std::string unit(text);
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  if (unit.empty() || unit == "B") {
    return 1;
  }
  const std::string_view prefixes = "KMGT";
  const std::size_t power = prefixes.find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "IB" || rest == "B")) {
    return 0;
  }
  const double step = rest == "B" ? 1000 : 1024;
  double bytes = step;
  for (std::size_t i = 0; i < power; ++i) {
    bytes *= step;
  }
  return bytes;
}

}  // namespace

std::size_t ParseByteSize(std::string_view text, std::string_view name) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  std::string_view unit = text.substr(static_cast<std::size_t>(parsed.ptr - text.data()));
  unit.remove_prefix(unit.starts_with(' ') ? 1 : 0);
  const double bytes = number * UnitOf(unit);
  // Infinities and what is no number fail these comparisons.
  if (parsed.ec != std::errc() || !(bytes >= 1 && bytes < kEndOfSizes)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        std::string(name) + ": got '" + Printable(text) +
            "', wanted a number of bytes like 512M, 4G or 1.5GiB"
    );
  }
  return static_cast<std::size_t>(bytes);
}

std::string FormatByteSize(std::size_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value < 999'500) {
    return fmt::format("{:.0f} kB", value / 1e3);
  }
  return value < 9.995e9 ? fmt::format("{:.1f} MB", value / 1e6)
                         : fmt::format("{:.2f} GB", value / 1e9);
}

}  // namespace hearth
