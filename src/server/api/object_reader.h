// One JSON object of a request, read field by field with one clear message for what does not fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/json_body.h"

namespace hearth::api {

// null equals absent, for every field. A message names the field by its path from the body, what it got and what it wanted;
// texts of the client are quoted in a printable form.
// Ownership: borrows the object. Cost: a field is looked for in all keys.
class ObjectReader {
 public:
  // `path` is where the object stands: "" for the body, "stream_options" or "messages[3]" within it.
  // Errors: RequestError when it is no object.
  explicit ObjectReader(const Json& object, std::string path = "");

  // The field's value, or nothing. Whatever is asked for counts as known.
  const Json* Find(std::string_view name);

  // Errors of all: RequestError(400) with the field as param.
  std::optional<bool> Bool(std::string_view name);

  // A whole number of [least, most]; 3.0 is one.
  std::optional<std::int64_t> Integer(std::string_view name, std::int64_t least, std::int64_t most);

  // A number of [least, most].
  std::optional<double> Number(std::string_view name, double least, double most);

  std::optional<std::string> String(
      std::string_view name, std::size_t most_bytes = std::string::npos
  );

  // Accepts a field of this type and does nothing with it: the answer does not depend on it.
  void IgnoreString(std::string_view name);
  void IgnoreBool(std::string_view name);
  void IgnoreObject(std::string_view name);

  // Refuses a field of what is not there, unless its value asks for nothing: absent, null, false, "", [], {}, or one of
  // `neutral`.
  void Refuse(
      std::string_view name, std::string_view why, std::initializer_list<Json> neutral = {}
  );

  // Refuses every field whose name begins so, as Refuse does.
  void RefuseAll(std::string_view beginning, std::string_view why);

  // Paths of the fields that nobody asked for, in their order.
  std::vector<std::string> Unknown() const;

  std::string PathOf(std::string_view name) const;

  // Throws RequestError(400): "temperature: got "hot", wanted a number".
  [[noreturn]] void Fail(std::string_view name, const Json& got, std::string_view wanted) const;

 private:
  const Json& object_;
  std::string path_;
  std::vector<std::string> known_;
  std::vector<std::string> known_beginnings_;
};

// A value in a message: short, printable, of one line.
std::string Quoted(const Json& value);

// A whole number within [least, most], or nothing: of integers, and of doubles without a fraction.
std::optional<std::int64_t> WholeNumber(const Json& value, std::int64_t least, std::int64_t most);

// Throws RequestError(400) of a path: "stop[1]: got 5, wanted a string".
[[noreturn]] void FailAt(const std::string& path, const Json& got, std::string_view wanted);

}  // namespace hearth::api
