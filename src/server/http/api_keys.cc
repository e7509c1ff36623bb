#include "server/http/api_keys.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

constexpr std::size_t kMostKeys = 1024;
constexpr std::size_t kMostKeyBytes = 512;
constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;

// Looks at every byte of `given` whatever differs. Volatile, so that the compiler does not find a way around that.
bool EqualInConstantTime(std::string_view kept, std::string_view given) {
  volatile unsigned difference = kept.size() == given.size() ? 0u : 1u;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto a = static_cast<unsigned char>(kept[i % kept.size()]);
    const auto b = static_cast<unsigned char>(given[i]);
    difference = difference | (a ^ b);
  }
  return difference == 0;
}

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// The key of "Bearer KEY"; empty for another scheme.
std::string_view BearerKey(std::string_view value) {
  constexpr std::string_view kScheme = "Bearer ";
  if (!EqualsIgnoringCase(value.substr(0, kScheme.size()), kScheme)) {
    return "";
  }
  return Trimmed(value.substr(kScheme.size()));
}

}  // namespace

void ApiKeys::Add(std::string key) {
  const std::string where = "API key " + std::to_string(keys_.size() + 1);
  if (keys_.size() >= kMostKeys) {
    throw Error(
        ErrorCode::kInvalidArgument,
        where + ": wanted at most " + std::to_string(kMostKeys) + " keys"
    );
  }
  const bool visible =
      std::all_of(key.begin(), key.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (key.empty() || key.size() > kMostKeyBytes || !visible) {
    throw Error(
        ErrorCode::kInvalidArgument,
        where + ": got " + std::to_string(key.size()) + " bytes, wanted 1 to " +
            std::to_string(kMostKeyBytes) + " visible ASCII characters"
    );
  }
  keys_.push_back(std::move(key));
}

void ApiKeys::AddFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    throw Error(ErrorCode::kIo, Printable(path) + ": the API keys cannot be read");
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostFileBytes) {
    throw Error(
        ErrorCode::kInvalidArgument,
        Printable(path) + ": wanted at most " + std::to_string(kMostFileBytes) +
            " bytes of API keys"
    );
  }
  const std::size_t before = keys_.size();
  std::string_view rest = text;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view key = Trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (key.empty() || key.front() == '#') {
      continue;
    }
    try {
      Add(std::string(key));
    } catch (const Error& error) {
      throw Error(
          error.code(), Printable(path) + ", line " + std::to_string(line) + ": " + error.what()
      );
    }
  }
  if (keys_.size() == before) {
    throw Error(
        ErrorCode::kInvalidArgument, Printable(path) + ": got no API key, wanted one a line"
    );
  }
}

ApiKeys::Verdict ApiKeys::Check(const HttpHeaders& headers) const {
  if (keys_.empty()) {
    return Verdict::kGranted;
  }
  std::size_t given = 0;
  bool right = true;
  for (const std::string_view value : headers.All("authorization")) {
    ++given;
    right = Holds(BearerKey(value)) && right;
  }
  for (const std::string_view value : headers.All("x-api-key")) {
    ++given;
    right = Holds(Trimmed(value)) && right;
  }
  return given == 0 ? Verdict::kMissing : right ? Verdict::kGranted : Verdict::kWrong;
}

bool ApiKeys::Holds(std::string_view key) const {
  bool found = false;
  for (const std::string& kept : keys_) {
    found = EqualInConstantTime(kept, key) || found;
  }
  return found;
}

}  // namespace hearth
