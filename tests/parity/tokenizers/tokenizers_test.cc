// Our ids and texts beside those of llama.cpp and Hugging Face tokenizers; tests/data/tokenizers/README.md says what
// the cases are. Where the two differ, Hugging Face is followed.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "formats/tokenizer_metadata.h"
#include "support/fixtures.h"
#include "support/named_tests.h"
#include "support/test_assets.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace hearth {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<TokenId>;

// Counts of the tree's own data.
constexpr std::size_t kCases = 152;
const std::map<std::string, std::size_t> kUpstreamCases = {{"qwen35", 51}};
constexpr std::size_t kUsualUpstreamCases = 47;

struct Vocabulary {
  std::optional<Tokenizer> tokenizer;
  std::string missing;  // why there is none
};

Vocabulary LoadVocabulary(const std::string& file) {
  const auto path = FindTestAsset("vocabularies/" + file);
  if (!path) {
    return {std::nullopt, std::string(kFetchTestAssets)};
  }
  const std::string bytes = ReadFile(*path);
  const GgufFile gguf(std::as_bytes(std::span(bytes)), file);
  const TokenizerDescription description = ReadTokenizer(gguf);
  if (description.model != "gpt2") {
    return {std::nullopt, "vocabularies of the model " + description.model + " are not built yet"};
  }
  return {Tokenizer(description), ""};
}

// A text, given as such or as the bytes before they were made valid.
std::string TextOf(const Json& decoded) {
  if (decoded.contains("text")) {
    return decoded.at("text");
  }
  const std::string hex = decoded.at("hex");
  std::string bytes, text;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(at, 2), nullptr, 16));
  }
  Utf8Stream stream;
  stream.Push(bytes, text);
  stream.Finish(text);
  return text;
}

std::string Stream(const Tokenizer& tokenizer, const Ids& ids, bool skip_special) {
  Detokenizer detokenizer(tokenizer, skip_special);
  std::string joined;
  for (const TokenId id : ids) {
    joined += detokenizer.Push(id);
  }
  return joined + detokenizer.Finish();
}

void CheckSpecial(const Tokenizer& tokenizer, const Json& special) {
  const auto id = [&](const char* name) {
    const int value = special.at(name);
    return value < 0 ? std::nullopt : std::optional(static_cast<TokenId>(value));
  };
  EXPECT_EQ(tokenizer.bos(), id("bos"));
  EXPECT_EQ(tokenizer.eos(), id("eos"));
  EXPECT_EQ(tokenizer.eot(), id("eot"));
  EXPECT_EQ(tokenizer.padding(), id("pad"));
  EXPECT_EQ(tokenizer.adds_bos(), special.at("add_bos").get<bool>());
  EXPECT_EQ(tokenizer.adds_eos(), special.at("add_eos").get<bool>());
  EXPECT_EQ(tokenizer.vocabulary_size(), special.at("n_tokens").get<std::size_t>());
  EXPECT_EQ(
      Ids(tokenizer.end_of_generation().begin(), tokenizer.end_of_generation().end()),
      special.at("eog").get<Ids>()
  );
  EXPECT_EQ(tokenizer.Encode("\n").at(0), special.at("nl").get<TokenId>());
  EXPECT_EQ(
      tokenizer.Encode("Hello world", {.add_special = true}),
      special.at("hello_world_add_special").get<Ids>()
  );
}

void CheckDecoding(const Tokenizer& tokenizer, const Json& entry, const std::string& text) {
  const Ids ids = entry.at("ids");
  const std::string expected = entry.contains("decoded") ? TextOf(entry.at("decoded")) : text;
  EXPECT_EQ(tokenizer.Decode(ids, {.clean_spaces = tokenizer.cleans_spaces()}), expected);
  EXPECT_EQ(Stream(tokenizer, ids, false), tokenizer.Decode(ids));
  for (const bool skip : {false, true}) {
    const char* name = skip ? "decoded_parse_special_skip" : "decoded_parse_special_keep";
    if (entry.contains(name)) {
      const Ids parsed = entry.at("ids_parse_special");
      const DecodeOptions options = {
          .skip_special = skip, .clean_spaces = tokenizer.cleans_spaces()
      };
      EXPECT_EQ(tokenizer.Decode(parsed, options), TextOf(entry.at(name)));
      EXPECT_EQ(Stream(tokenizer, parsed, skip), tokenizer.Decode(parsed, {.skip_special = skip}));
    }
  }
}

// Checks one case; returns whether Hugging Face's ids were followed against llama.cpp's.
bool CheckCase(const Tokenizer& tokenizer, const Json& entry) {
  const std::string text = entry.at("text");
  const Ids ids = entry.at("ids");
  const Ids found = tokenizer.Encode(text);
  const bool follows = entry.contains("hf_ids_differ") && found != ids;
  const Ids expected = follows ? entry.at("hf_ids_differ").get<Ids>() : ids;
  EXPECT_EQ(found, expected);
  const Ids parsed = tokenizer.Encode(text, {.parse_special = true});
  EXPECT_EQ(parsed, entry.value("ids_parse_special", expected));
  CheckDecoding(tokenizer, entry, text);
  return follows;
}

// The pairs that come with the vocabularies are llama.cpp's. A tokenizer that normalizes gives other ids for decomposed
// text; which ones, Hugging Face tokenizers have said for the pairs of the tree's own data. Returns whether it did.
bool CheckUpstream(const Tokenizer& tokenizer, const Json& entry, const Json& normalized) {
  const std::string text = entry.at("text");
  const Ids ids = entry.at("ids");
  const Ids found = tokenizer.Encode(text);
  if (found == ids) {
    return false;
  }
  const std::string composed = tokenizer.Decode(found);
  EXPECT_TRUE(tokenizer.normalizes() && composed != text) << testing::PrintToString(found);
  EXPECT_EQ(tokenizer.Encode(composed), found);
  EXPECT_EQ(tokenizer.Decode(ids), text);
  for (const Json& known : normalized) {
    if (known.at("text") == text) {
      EXPECT_EQ(found, known.at("ids").get<Ids>());
    }
  }
  return true;
}

void CheckVocabulary(const std::string& name) {
  const Json fixture = LoadJson(FixtureDir("tokenizers") / (name + ".json"));
  const auto [tokenizer, missing] = LoadVocabulary(fixture.at("vocab"));
  if (!tokenizer) {
    GTEST_SKIP() << missing;
  }
  CheckSpecial(*tokenizer, fixture.at("special"));
  std::size_t followed = 0;
  for (const Json& entry : fixture.at("cases")) {
    SCOPED_TRACE(entry.at("text").dump());
    followed += CheckCase(*tokenizer, entry) ? 1U : 0U;
  }
  const Json known = LoadJson(
      std::filesystem::path(HEARTH_SOURCE_DIR) / "tests/data/tokenizers/normalized/upstream.json"
  );
  std::size_t followed_upstream = 0;
  const Json upstream = fixture.value("upstream_cases", Json::array());
  for (const Json& entry : upstream) {
    SCOPED_TRACE(entry.at("text").dump());
    followed_upstream +=
        CheckUpstream(*tokenizer, entry, known.value(name, Json::array())) ? 1U : 0U;
  }
  if (UsesBuiltInFixtures()) {
    const auto usual = kUpstreamCases.find(name);
    EXPECT_EQ(fixture.at("cases").size(), kCases);
    EXPECT_EQ(upstream.size(), usual == kUpstreamCases.end() ? kUsualUpstreamCases : usual->second);
    EXPECT_EQ(followed_upstream, known.value(name, Json::array()).size());
  }
  std::ostringstream count;
  count << followed + followed_upstream << " of " << fixture.at("cases").size() + upstream.size();
  testing::Test::RecordProperty("follows_hugging_face_against_llama_cpp", count.str());
}

// More vocabularies with pairs of text and ids, straight from the published files.
void CheckPublishedPairs(const std::string& name) {
  const auto inputs = FindTestAsset("vocabularies/ggml-vocab-" + name + ".gguf.inp");
  const auto outputs = FindTestAsset("vocabularies/ggml-vocab-" + name + ".gguf.out");
  const auto [tokenizer, missing] = LoadVocabulary("ggml-vocab-" + name + ".gguf");
  if (!tokenizer || !inputs || !outputs) {
    GTEST_SKIP() << kFetchTestAssets;
  }
  const std::string separator = "\n__ggml_vocab_test__\n";
  const std::string texts = ReadFile(*inputs);
  std::istringstream lines(ReadFile(*outputs));
  std::size_t count = 0;
  std::string line;
  for (std::size_t at = 0, end = 0; end != std::string::npos; ++count) {
    end = texts.find(separator, at);
    const std::string text = texts.substr(at, end - at);
    at = end + separator.size();
    SCOPED_TRACE(text);
    line.clear();  // the last text is empty and has no line
    std::getline(lines, line);
    std::istringstream numbers(line);
    Ids ids;
    for (TokenId id = 0; numbers >> id;) {
      ids.push_back(id);
    }
    EXPECT_EQ(tokenizer->Encode(text), ids);
  }
  EXPECT_EQ(count, kUsualUpstreamCases);
}

[[maybe_unused]] const std::size_t kVocabularies =
    RegisterNamedTests("tokenizers", JsonNames(FixtureDir("tokenizers")), CheckVocabulary);
[[maybe_unused]] const std::size_t kPublished = RegisterNamedTests(
    "tokenizers_published", {"refact", "mpt", "deepseek-coder"}, CheckPublishedPairs
);

}  // namespace
}  // namespace hearth
