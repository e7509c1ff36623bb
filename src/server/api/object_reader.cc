#include "server/api/object_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "contracts/printable.h"
#include "server/api/api_error.h"

namespace hearth::api {
namespace {

bool AsksNothing(const Json& value) {
  return value.is_null() || value == false || value == "" ||
         (value.is_structured() && value.empty());
}

}  // namespace

std::string Quoted(const Json& value) {
  if (value.is_string()) {
    return "\"" + Printable(value.get_ref<const std::string&>(), 40) + "\"";
  }
  if (value.is_structured()) {
    return value.is_array() ? "an array" : "an object";
  }
  return DumpJson(value);
}

std::optional<std::int64_t> WholeNumber(const Json& value, std::int64_t least, std::int64_t most) {
  std::optional<std::int64_t> number;
  if (value.is_number_unsigned()) {
    const auto natural = value.get<std::uint64_t>();
    if (natural <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      number = static_cast<std::int64_t>(natural);
    }
  } else if (value.is_number_integer()) {
    number = value.get<std::int64_t>();
  } else if (value.is_number_float()) {
    const auto real = value.get<double>();
    if (std::abs(real) <= 9007199254740992.0 && std::trunc(real) == real) {
      number = static_cast<std::int64_t>(real);
    }
  }
  return number && *number >= least && *number <= most ? number : std::nullopt;
}

void FailAt(const std::string& path, const Json& got, std::string_view wanted) {
  throw RequestError(
      InvalidRequest(fmt::format("{}: got {}, wanted {}", path, Quoted(got), wanted), path)
  );
}

ObjectReader::ObjectReader(const Json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) {
    FailAt(path_.empty() ? "body" : path_, object_, "an object");
  }
}

std::string ObjectReader::PathOf(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void ObjectReader::Fail(std::string_view name, const Json& got, std::string_view wanted) const {
  FailAt(PathOf(name), got, wanted);
}

const Json* ObjectReader::Find(std::string_view name) {
  known_.emplace_back(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<bool> ObjectReader::Bool(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_boolean()) {
    Fail(name, *value, "true or false");
  }
  return value->get<bool>();
}

std::optional<std::int64_t> ObjectReader::Integer(
    std::string_view name, std::int64_t least, std::int64_t most
) {
  const Json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = WholeNumber(*value, least, most);
  if (!number) {
    Fail(name, *value, fmt::format("a whole number from {} to {}", least, most));
  }
  return number;
}

std::optional<double> ObjectReader::Number(std::string_view name, double least, double most) {
  const Json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least && number <= most)) {
    Fail(name, *value, fmt::format("a number from {} to {}", least, most));
  }
  return number;
}

std::optional<std::string> ObjectReader::String(std::string_view name, std::size_t most_bytes) {
  const Json* value = Find(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->is_string()) {
    Fail(name, *value, "a string");
  }
  const auto& text = value->get_ref<const std::string&>();
  if (text.size() > most_bytes) {
    Fail(name, *value, fmt::format("at most {} bytes", most_bytes));
  }
  return text;
}

void ObjectReader::IgnoreString(std::string_view name) {
  static_cast<void>(String(name));
}

void ObjectReader::IgnoreBool(std::string_view name) {
  static_cast<void>(Bool(name));
}

void ObjectReader::IgnoreObject(std::string_view name) {
  if (const Json* value = Find(name); value != nullptr && !value->is_object()) {
    Fail(name, *value, "an object");
  }
}

void ObjectReader::Refuse(
    std::string_view name, std::string_view why, std::initializer_list<Json> neutral
) {
  const Json* value = Find(name);
  if (value != nullptr && !AsksNothing(*value) &&
      std::find(neutral.begin(), neutral.end(), *value) == neutral.end()) {
    throw RequestError(UnsupportedField(PathOf(name), std::string(why)));
  }
}

void ObjectReader::RefuseAll(std::string_view beginning, std::string_view why) {
  known_beginnings_.emplace_back(beginning);
  for (const auto& [name, value] : object_.items()) {
    if (name.starts_with(beginning) && !AsksNothing(value)) {
      throw RequestError(UnsupportedField(PathOf(Printable(name)), std::string(why)));
    }
  }
}

std::vector<std::string> ObjectReader::Unknown() const {
  std::vector<std::string> unknown;
  for (const auto& item : object_.items()) {
    const std::string& name = item.key();
    const bool known = std::find(known_.begin(), known_.end(), name) != known_.end() ||
                       std::any_of(
                           known_beginnings_.begin(),
                           known_beginnings_.end(),
                           [&](const std::string& beginning) { return name.starts_with(beginning); }
                       );
    if (!known) {
      unknown.push_back(PathOf(name));
    }
  }
  return unknown;
}

}  // namespace hearth::api
