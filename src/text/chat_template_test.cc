#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>  // IWYU pragma: keep
#include <string>

#include "support/expect_error.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

Json Messages() {
  return Json::parse(R"([{"role": "user", "content": "Hi <b> \u00e9"}])");
}

std::string Render(
    std::string_view source,
    const Json& variables = nullptr,
    const Json& tools = nullptr,
    const ChatTemplateOptions& options = {}
) {
  return ChatTemplate(source, {{"bos_token", "<s>"}}).Render(Messages(), tools, variables, options);
}

// The error of a call that must throw one.
template <typename Call>
TemplateError Caught(Call&& call) {
  try {
    call();
  } catch (const TemplateError& error) {
    EXPECT_TRUE(IsOneLine(error.what())) << error.what();
    return error;
  }
  ADD_FAILURE() << "no TemplateError";
  return {ErrorCode::kInternal, "", 0, 0, false};
}

TEST(ChatTemplate, SeesItsVariables) {
  EXPECT_EQ(Render("{{ bos_token }}{{ messages[0].content }}"), "<s>Hi <b> \u00e9");
  EXPECT_EQ(Render("[{{ eos_token }}]{{ tools }}{{ documents }}"), "[]NoneNone");
  EXPECT_EQ(Render("{{ add_generation_prompt }}"), "True");
  EXPECT_EQ(
      Render("{{ add_generation_prompt }}", nullptr, nullptr, {.add_generation_prompt = false}),
      "False"
  );
  EXPECT_EQ(
      Render("{{ x.y }}{{ bos_token }}", Json{{"x", {{"y", true}}}, {"bos_token", "B"}}), "TrueB"
  );
}

TEST(ChatTemplate, JsonKeepsItsOrderAndForm) {
  const Json tools =
      Json::parse(R"([{"z": 1.0, "a": [null, 1e-5, 9007199254740993], "m": "<\u00e9\n"}])");
  EXPECT_EQ(
      Render("{{ tools[0] | tojson }}", nullptr, tools),
      "{\"z\": 1.0, \"a\": [null, 1e-05, 9007199254740993], \"m\": \"<\u00e9\\n\"}"
  );
  EXPECT_EQ(
      Render("{{ tools[0]|tojson(indent=1) }}", nullptr, Json::parse(R"([{"a": []}])")),
      "{\n \"a\": []\n}"
  );
}

TEST(ChatTemplate, BlocksTakeTheirLineAlong) {
  EXPECT_EQ(Render("{% if true %}\n  a\n{% endif %}\n  {% if true %}b{% endif %}\n"), "  a\nb");
  EXPECT_EQ(Render("{% generation %}\nx{% endgeneration %}"), "x");
}

TEST(ChatTemplate, TellsTheGivenTime) {
  std::tm now{};
  now.tm_year = 126;
  now.tm_mon = 2;
  now.tm_mday = 14;
  now.tm_wday = 6;
  now.tm_yday = 72;
  now.tm_hour = 9;
  EXPECT_EQ(
      Render("{{ strftime_now('%d %b %Y %H %a %j') }}", nullptr, nullptr, {.now = now}),
      "14 Mar 2026 09 Sat 073"
  );
  EXPECT_EQ(Render("{{ strftime_now('%Y')|int >= 2025 }}"), "True")
      << "the clock's time without one";
}

TEST(ChatTemplate, ARaisedErrorIsTheTemplatesOwn) {
  const TemplateError error = Caught([] {
    Render("{% if true %}\n  {{ raise_exception('Roles must\\nalternate') }}{% endif %}");
  });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE(error.raised());
  EXPECT_EQ(error.detail(), "Roles must\nalternate");
  EXPECT_EQ(error.line(), 2u);
  EXPECT_EQ(error.column(), 6u);
  EXPECT_STREQ(error.what(), "chat template, line 2, column 6: Roles must\\x0aalternate");
}

TEST(ChatTemplate, WhatTheTemplateCannotExpressIsTheRequestsFault) {
  const TemplateError error = Caught([] { Render("{{ 'a' + messages }}"); });
  EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(error.raised());
  EXPECT_EQ(error.line(), 1u);
}

TEST(ChatTemplate, ASyntaxErrorHasAPlace) {
  const TemplateError error = Caught([] { ChatTemplate("line\n\u00e9 {% iff %}"); });
  EXPECT_EQ(error.code(), ErrorCode::kCorruptData);
  EXPECT_FALSE(error.raised());
  EXPECT_EQ(error.line(), 2u);
  EXPECT_EQ(error.column(), 6u);
}

TEST(ChatTemplate, InputsMustBeText) {
  ExpectError([] { ChatTemplate("\xff"); }, ErrorCode::kInvalidArgument, "UTF-8");
  ExpectError([] { Render("", Json{{"x", "\xff"}}); }, ErrorCode::kInvalidArgument, "kwargs");
  ExpectError(
      [] { Render("", Json::array({1})); }, ErrorCode::kInvalidArgument, "wanted a JSON object"
  );
  ExpectError([] { Render("", Json{{"tools", 1}}); }, ErrorCode::kInvalidArgument, "\"tools\"");
}

TEST(ChatTemplate, HostileTemplatesEndInAnError) {
  const auto expect = [](const std::string& source, ErrorCode code, std::string_view part) {
    ExpectError([&] { Render(source); }, code, part);
  };
  expect(
      "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
      ErrorCode::kResourceExhausted,
      "more work"
  );
  expect(
      "{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s ~ n.s %}{% endfor "
      "%}",
      ErrorCode::kResourceExhausted,
      "more work"
  );
  expect(
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", ErrorCode::kInvalidArgument, "recursion"
  );
  expect("{% include 'other' %}", ErrorCode::kInvalidArgument, "cannot load");
  expect(std::string(300'000, ' '), ErrorCode::kResourceExhausted, "at most 262144");
  std::string deep = "{{ 1";
  for (int level = 0; level < 5000; ++level) {
    deep += "+1";
  }
  expect(deep + " }}", ErrorCode::kResourceExhausted, "1000 tokens");
}

}  // namespace
}  // namespace hearth
