#include "server/http/request_target.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "contracts/printable.h"

namespace hearth {
namespace {

HttpFault Bad(std::string message) {
  return HttpFault{400, std::move(message)};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// nullopt for an escape that is none.
std::optional<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return std::nullopt;
      }
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      decoded.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return decoded;
}

// Printable leaves exactly valid UTF-8 without control characters and backslashes as it is.
bool IsPlain(const std::string& text) {
  return Printable(text, text.size() + 1) == text;
}

bool IsPlainBesidesBackslashes(std::string text) {
  std::replace(text.begin(), text.end(), '\\', '/');
  return IsPlain(text);
}

bool HasDotSegment(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);  // the '/'
    const std::string_view segment = path.substr(0, path.find('/'));
    if (segment == "." || segment == "..") {
      return true;
    }
    path.remove_prefix(segment.size());
  }
  return false;
}

std::optional<HttpFault> ParseQuery(std::string_view text, RequestTarget& target) {
  target.raw_query = text;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) {
      continue;
    }
    const std::size_t equals = pair.find('=');
    const auto name = Decode(pair.substr(0, equals), true);
    const auto value = Decode(equals == pair.npos ? "" : pair.substr(equals + 1), true);
    if (!name || !value) {
      return Bad("the query holds a percent sign that begins no escape");
    }
    if (!IsPlainBesidesBackslashes(*name + *value)) {
      return Bad("the decoded query holds a control character or bytes that are not UTF-8");
    }
    target.query.push_back({*name, *value});
  }
  return std::nullopt;
}

std::optional<HttpFault> ParseOrigin(std::string_view text, RequestTarget& target) {
  const std::size_t mark = text.find('?');
  const auto path = Decode(text.substr(0, mark), false);
  if (!path) {
    return Bad("the path holds a percent sign that begins no escape");
  }
  if (!IsPlain(*path)) {
    return Bad(
        "the decoded path holds a control character, a backslash or bytes that are not UTF-8"
    );
  }
  if (HasDotSegment(*path)) {
    return Bad("the path has a \".\" or \"..\" segment");
  }
  target.path = *path;
  return mark == text.npos ? std::nullopt : ParseQuery(text.substr(mark + 1), target);
}

bool IsPort(std::string_view text) {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsNameByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

bool IsAddressByte(char c) {
  return HexDigit(c) >= 0 || c == ':' || c == '.';
}

}  // namespace

bool IsAuthority(std::string_view text) {
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == text.npos || end < 3 ||
        !std::all_of(
            text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(end), IsAddressByte
        )) {
      return false;
    }
    rest = text.substr(end + 1);
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end == 0 ||
        !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end), IsNameByte)) {
      return false;
    }
    rest = text.substr(end);
  }
  return rest.empty() || (rest.front() == ':' && IsPort(rest.substr(1)));
}

std::optional<HttpFault> ParseRequestTarget(
    std::string_view method, std::string_view text, RequestTarget& target
) {
  const bool visible =
      std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!visible) {
    return Bad("the target holds a byte outside visible ASCII");
  }
  if (text.find('#') != text.npos) {
    return Bad("the target holds a fragment");
  }
  if (text == "*") {
    if (method != "OPTIONS") {
      return Bad("the target \"*\" belongs to OPTIONS");
    }
    target.path = "*";
    return std::nullopt;
  }
  if (text.starts_with('/')) {
    return ParseOrigin(text, target);
  }
  constexpr std::string_view kScheme = "http://";
  if (!EqualsIgnoringCase(text.substr(0, kScheme.size()), kScheme)) {
    return Bad("the target is neither a path nor an http URL");
  }
  text.remove_prefix(kScheme.size());
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  target.authority = text.substr(0, end);
  if (!IsAuthority(*target.authority)) {
    return Bad("the target names no host");
  }
  text.remove_prefix(end);
  return text.starts_with('/') ? ParseOrigin(text, target)
                               : ParseOrigin("/" + std::string(text), target);
}

}  // namespace hearth
