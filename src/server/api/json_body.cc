#include "server/api/json_body.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "contracts/printable.h"
#include "server/api/api_error.h"

namespace hearth::api {
namespace {

[[noreturn]] void RefuseBody(const std::string& message) {
  throw RequestError(InvalidRequest("body: " + message, "", "invalid_json"));
}

// Counts what building the value would cost, without recursion and without judging the grammar: the parser does that
// afterwards, within these bounds.
class SizeScan {
 public:
  explicit SizeScan(const JsonLimits& limits) : limits_(limits) {}

  void Run(std::string_view bytes) {
    bool in_string = false;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      const char byte = bytes[at];
      if (in_string) {
        if (byte == '\\') {
          ++at;
        } else if (byte == '"') {
          in_string = false;
        }
        continue;
      }
      if (byte == '"') {
        in_string = true;
      } else {
        Structure(byte, at);
      }
    }
  }

 private:
  void Structure(char byte, std::size_t at) {
    switch (byte) {
      case '{':
      case '[':
        Count(at);
        if (keys_.size() == limits_.depth) {
          RefuseBody(fmt::format("got more than {} levels at byte {}", limits_.depth, at));
        }
        keys_.push_back(0);
        return;
      case '}':
      case ']':
        if (!keys_.empty()) {
          keys_.pop_back();
        }
        return;
      case ',':
        Count(at);
        return;
      case ':':
        if (!keys_.empty() && ++keys_.back() > limits_.object_keys) {
          RefuseBody(
              fmt::format("got more than {} keys in one object at byte {}", limits_.object_keys, at)
          );
        }
        return;
      default:
        return;
    }
  }

  // An opening stands for the value itself, a comma for one more; the empty and the last are the difference.
  void Count(std::size_t at) {
    if (++values_ > limits_.values) {
      RefuseBody(fmt::format("got more than {} values at byte {}", limits_.values, at));
    }
  }

  const JsonLimits& limits_;
  std::vector<std::size_t> keys_;  // of each open array or object
  std::size_t values_ = 0;
};

// Builds the value, and refuses keys that stand twice. It appends to objects without looking for the key first, which would
// take quadratic time in a large one.
class Builder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Add(nullptr); }

  bool boolean(bool value) override { return Add(value); }

  bool number_integer(number_integer_t value) override { return Add(value); }

  bool number_unsigned(number_unsigned_t value) override { return Add(value); }

  bool number_float(number_float_t value, const string_t& /*text*/) override { return Add(value); }

  bool string(string_t& value) override { return Add(std::move(value)); }

  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*size*/) override { return Open(Json::object()); }

  bool start_array(std::size_t /*size*/) override { return Open(Json::array()); }

  bool key(string_t& value) override {
    auto& members = *open_.back()->get_ptr<Json::object_t*>();
    members.emplace_back(std::move(value), nullptr);
    return true;
  }

  bool end_object() override {
    const auto& members = *open_.back()->get_ptr<Json::object_t*>();
    std::vector<std::string_view> keys;
    keys.reserve(members.size());
    for (const auto& [key, value] : members) {
      keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    if (const auto twice = std::adjacent_find(keys.begin(), keys.end()); twice != keys.end()) {
      RefuseBody(fmt::format("got the key \"{}\" twice in one object", Printable(*twice)));
    }
    open_.pop_back();
    return true;
  }

  bool end_array() override {
    open_.pop_back();
    return true;
  }

  bool parse_error(
      std::size_t position, const std::string& /*token*/, const nlohmann::json::exception& error
  ) override {
    // The library's ids: 406 is a number out of range; the rest is syntax, encoding included.
    if (error.id == 406) {
      RefuseBody(fmt::format("got a number past the range of doubles at byte {}", position));
    }
    RefuseBody(fmt::format("got no valid JSON in UTF-8, wrong at byte {}", position));
  }

  Json Take() { return std::move(root_); }

 private:
  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& member = parent.get_ptr<Json::object_t*>()->back().second;
    member = std::move(value);
    return &member;
  }

  bool Add(Json value) {
    Place(std::move(value));
    return true;
  }

  // A child moves when its parent grows, but only the innermost open one can grow, and that has no open child.
  bool Open(Json value) {
    open_.push_back(Place(std::move(value)));
    return true;
  }

  Json root_;
  std::vector<Json*> open_;
};

}  // namespace

Json ParseJson(std::string_view bytes, const JsonLimits& limits) {
  SizeScan(limits).Run(bytes);
  Builder builder;
  // False only after parse_error, which throws.
  Json::sax_parse(bytes.begin(), bytes.end(), &builder);
  return builder.Take();
}

Json ParseBody(std::string_view bytes, const JsonLimits& limits) {
  if (bytes.find_first_not_of(" \n\r\t") == std::string_view::npos) {
    RefuseBody("got nothing, wanted a JSON object");
  }
  Json value = ParseJson(bytes, limits);
  if (!value.is_object()) {
    RefuseBody(fmt::format("got JSON of type {}, wanted an object", value.type_name()));
  }
  return value;
}

std::string DumpJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double ShortNumber(float value) {
  std::array<char, 32> text{};
  const auto written = std::to_chars(text.data(), text.data() + text.size(), value);
  double number = 0;
  std::from_chars(text.data(), written.ptr, number);
  return number;
}

}  // namespace hearth::api
