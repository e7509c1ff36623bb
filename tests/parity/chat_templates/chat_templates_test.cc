// Rendered templates beside those of Hugging Face transformers; tests/data/chat_templates/README.md says what the
// cases are.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

#include "support/fixtures.h"
#include "support/named_tests.h"
#include "support/test_assets.h"
#include "text/chat_template.h"

namespace hearth {
namespace {

using Json = nlohmann::ordered_json;

// Counts of the tree's own data.
constexpr std::size_t kCases = 12;
constexpr std::size_t kTemplates = 35;

std::string Sha256(const std::string& text) {
  std::array<unsigned char, 32> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::ostringstream hex;
  for (const unsigned char byte : digest) {
    hex << std::hex << std::setw(2) << std::setfill('0') << static_cast<unsigned>(byte);
  }
  return hex.str();
}

std::tm LocalTime(const std::string& text) {
  std::tm time{};
  std::istringstream(text) >> std::get_time(&time, "%Y-%m-%dT%H:%M:%S");
  std::mktime(&time);  // fills in the day of the week and of the year
  return time;
}

struct Answer {
  std::optional<std::string> text;
  std::string error;
  bool raised = false;
};

Answer Render(const ChatTemplate& chat_template, const Json& entry, const std::tm& now) {
  Json variables = entry.at("kwargs");
  ChatTemplateOptions options = {.add_generation_prompt = false, .now = now};
  if (variables.contains("add_generation_prompt")) {
    options.add_generation_prompt = variables.at("add_generation_prompt");
    variables.erase("add_generation_prompt");
  }
  Answer answer;
  try {
    answer.text = chat_template.Render(entry.at("messages"), entry.at("tools"), variables, options);
  } catch (const TemplateError& error) {
    answer.error = error.detail();
    answer.raised = error.raised();
    EXPECT_GT(error.line(), 0U) << error.what();
  }
  return answer;
}

// Errors of Python itself are not ours to have: there an answer is as good.
void CheckError(const Answer& answer, const Json& expected) {
  if (expected.at("type") == "TemplateError") {
    EXPECT_FALSE(answer.text.has_value()) << *answer.text;
    EXPECT_TRUE(answer.raised) << answer.error;
    EXPECT_NE(answer.error.find(expected.at("message")), std::string::npos)
        << answer.error << "\nwanted: " << expected.at("message");
  }
}

void CheckTemplate(const std::string& name) {
  const std::string path = (FixtureDir("chat_templates") / (name + ".json")).string();
  const Json fixture = Json::parse(ReadFile(path));
  const auto asset = FindTestAsset("templates/" + fixture.at("template").get<std::string>());
  if (!asset) {
    GTEST_SKIP() << kFetchTestAssets;
  }
  const std::string source = ReadFile(*asset);
  ASSERT_EQ(Sha256(source), fixture.at("template_sha256")) << asset->string();
  const ChatTemplate chat_template(
      source, fixture.at("special_tokens").get<std::map<std::string, std::string>>()
  );
  const std::tm now = LocalTime(fixture.at("now"));
  for (const Json& entry : fixture.at("cases")) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const Answer answer = Render(chat_template, entry, now);
    if (entry.contains("error")) {
      CheckError(answer, entry.at("error"));
    } else {
      EXPECT_EQ(answer.text, entry.at("expected").get<std::string>()) << answer.error;
    }
  }
  if (UsesBuiltInFixtures()) {
    EXPECT_EQ(fixture.at("cases").size(), kCases);
  }
}

const std::size_t kRegistered =
    RegisterNamedTests("chat_templates", JsonNames(FixtureDir("chat_templates")), CheckTemplate);

TEST(chat_templates_all, AreThere) {
  if (!UsesBuiltInFixtures()) {
    GTEST_SKIP() << "other fixtures: their number is not known";
  }
  EXPECT_EQ(kRegistered, kTemplates);
}

}  // namespace
}  // namespace hearth
