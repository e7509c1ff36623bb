// A model's chat template: messages in, the prompt's text out, as Hugging Face transformers renders it.
#pragma once

#include <ctime>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "hearth/error.h"

namespace hearth {

// What a template refuses or cannot do. The message is one line that says where; the parts are here too.
class TemplateError : public Error {
 public:
  TemplateError(ErrorCode code, std::string detail, unsigned line, unsigned column, bool raised);

  // The template's own words when it raised the error, else what the engine says; may have several lines.
  const std::string& detail() const { return detail_; }

  unsigned line() const { return line_; }  // from 1; 0 when unknown

  unsigned column() const { return column_; }  // in characters, from 1; 0 when unknown

  bool raised() const { return raised_; }  // by the template itself, with raise_exception

 private:
  std::string detail_;
  unsigned line_;
  unsigned column_;
  bool raised_;
};

struct ChatTemplateOptions {
  bool add_generation_prompt = true;  // end with what starts the assistant's answer
  std::optional<std::tm> now = {};    // local time for strftime_now; empty: the clock's
};

// A template is a program of the model's author, so it is bounded: 256 KiB of source, 1,000 tokens in a tag, recursion,
// 64 MB in one value, and work (instructions and bytes) that grows with the conversation, at most about ten seconds.
// It reaches no file and no other template.
//
// It differs from Jinja2 in what no published template uses: macros have no `varargs` and `kwargs`, some rare filters
// (wordcount, wordwrap, xmlattr, urlencode, random) are missing, a name of a method without a call is undefined. Where
// Python would raise a type error, a comparison of unlike types or a loop over None goes on instead.
// Threads: immutable; any number of threads may render one at once.
class ChatTemplate {
 public:
  // `special_tokens` are variables of every rendering: "bos_token", "eos_token", "unk_token", "pad_token". One that is
  // not given prints as nothing.
  // Errors: TemplateError(kCorruptData) with line and column when the source cannot be parsed;
  //         Error(kResourceExhausted) when it is too large; Error(kInvalidArgument) when it is not UTF-8.
  explicit ChatTemplate(
      std::string_view source, const std::map<std::string, std::string>& special_tokens = {}
  );
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;

  // `messages` is an array, `tools` an array or null; `variables` an object of further variables, or null. They win
  // over the special tokens; "documents" is None unless it is one of them. Keys keep their order.
  // Errors: TemplateError(kInvalidArgument) when the template raises an error or goes wrong, which mostly means that it
  //         cannot express the conversation; Error(kInvalidArgument) when a text is not UTF-8 or a variable's name is
  //         taken; Error(kResourceExhausted) past a bound.
  // Cost:   about 10 us and 1 us a message; the template is compiled once.
  std::string Render(
      const nlohmann::ordered_json& messages,
      const nlohmann::ordered_json& tools,
      const nlohmann::ordered_json& variables,
      const ChatTemplateOptions& options = {}
  ) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace hearth
