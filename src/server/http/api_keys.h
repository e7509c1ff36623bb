// API keys: who may ask.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"

namespace hearth {

// Up to 1024 keys of 1 to 512 visible ASCII characters.
// Threads: const after construction.
// Errors:  kInvalidArgument for a key that breaks these rules, by its place and never by its text; kIo for a file that
//          cannot be read.
// Cost:    a check compares with every key, each in a time that depends on the lengths only, so that it tells nothing of how much of a
//          guess was right.
class ApiKeys {
 public:
  enum class Verdict { kGranted, kMissing, kWrong };

  // No keys: everybody may.
  ApiKeys() = default;

  void Add(std::string key);

  // One key a line, at most 1 MiB; empty lines and lines that begin with '#' are none, white space around a key neither.
  // A file without a key is an error: it would open what it was meant to close.
  void AddFile(const std::string& path);

  bool empty() const { return keys_.empty(); }

  std::size_t size() const { return keys_.size(); }

  // Reads "Authorization: Bearer KEY" and "X-Api-Key: KEY". Of several keys in one request each must be right.
  Verdict Check(const HttpHeaders& headers) const;

 private:
  bool Holds(std::string_view key) const;

  std::vector<std::string> keys_;
};

}  // namespace hearth
