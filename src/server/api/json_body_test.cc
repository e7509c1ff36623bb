#include "server/api/json_body.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/api/api_error.h"

namespace hearth::api {
namespace {

// The message that refuses the body, or nothing.
std::string Refusal(std::string_view bytes, const JsonLimits& limits = {}) {
  try {
    ParseBody(bytes, limits);
  } catch (const RequestError& error) {
    EXPECT_EQ(error.error().status, 400);
    EXPECT_EQ(error.error().type, "invalid_request_error");
    // An error must be sendable whatever it quotes.
    EXPECT_EQ(Json::parse(DumpJson(ErrorBody(error.error())))["error"]["message"], error.what());
    return error.what();
  }
  return "";
}

TEST(JsonBody, KeepsTheOrderOfKeys) {
  EXPECT_EQ(
      DumpJson(ParseBody(R"({"b": 1, "a": [true, null, -2.5, "\u00e9"]})")),
      "{\"b\":1,\"a\":[true,null,-2.5,\"\u00e9\"]}"
  );
}

TEST(JsonBody, Fault07_BodiesThatAreNotUtf8OrEmpty) {
  EXPECT_NE(Refusal("{\"p\":\"\xc4\xe3\"}"), "");
  EXPECT_NE(Refusal("{\"p\":\"\xed\xa0\x80\"}"), "");
  EXPECT_NE(Refusal("{\"p\":\"\\ud800\"}"), "");
  EXPECT_EQ(Refusal(""), "body: got nothing, wanted a JSON object");
  EXPECT_EQ(Refusal(" \r\n"), "body: got nothing, wanted a JSON object");
}

TEST(JsonBody, RefusesWhatIsNoJsonObject) {
  for (const char* bytes :
       {"{",
        "}",
        "[1]",
        "\"a\"",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "{\"a\":1}{",
        "{'a':1}",
        "{\"a\":NaN}",
        "{\"a\":01}",
        "nul",
        "{\"a\":\"\n\"}",
        "{\"a\":1} x",
        "\\",
        "\"\\"}) {
    EXPECT_NE(Refusal(bytes), "") << bytes;
  }
  EXPECT_EQ(Refusal("[1]"), "body: got JSON of type array, wanted an object");
}

TEST(JsonBody, RefusesNumbersPastTheRange) {
  EXPECT_EQ(Refusal(R"({"a":1e999})"), "body: got a number past the range of doubles at byte 10");
  EXPECT_EQ(Refusal(R"({"a":123456789012345678901234567890})"), "");  // a double holds it
}

TEST(JsonBody, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(
      Refusal(R"({"a":1,"b":{"c":1,"d":2,"c":3}})"), "body: got the key \"c\" twice in one object"
  );
  EXPECT_EQ(Refusal(R"({"a":{"c":1},"b":{"c":1}})"), "");
}

TEST(JsonBody, DepthIsLimitedBeforeAnythingIsBuilt) {
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_EQ(Refusal(nested(64)), "");
  EXPECT_EQ(Refusal(nested(65)), "body: got more than 64 levels at byte 68");
  EXPECT_NE(Refusal("{\"a\":" + std::string(5'000'000, '[')), "");
  // Brackets in strings are no levels.
  EXPECT_EQ(Refusal("{\"a\":\"" + std::string(100, '[') + "\\\"[\"}"), "");
}

TEST(JsonBody, CountsOfValuesAndKeysAreLimited) {
  const JsonLimits limits{.values = 4, .object_keys = 2};
  EXPECT_EQ(Refusal(R"({"a":[1,2,3]})", limits), "");
  EXPECT_EQ(Refusal(R"({"a":[1,2,3,4]})", limits), "body: got more than 4 values at byte 11");
  EXPECT_EQ(Refusal(R"({"a":1,"b":2})", limits), "");
  EXPECT_EQ(
      Refusal(R"({"a":1,"b":2,"c":3})", limits),
      "body: got more than 2 keys in one object at byte 16"
  );
}

TEST(JsonBody, LargeObjectsTakeLinearTime) {
  std::string body = "{\"logit_bias\":{";
  for (int i = 0; i < 65536; ++i) {
    body += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  }
  EXPECT_EQ(ParseBody(body + "}}")["logit_bias"].size(), 65536u);
}

TEST(JsonBody, Fault05_DumpingNeverThrows) {
  EXPECT_EQ(DumpJson("a\xff\xe2\x82z"), "\"a\ufffd\ufffdz\"");
  const ApiError error = InvalidRequest("got \xff", "\xc4\xe3", "");
  EXPECT_EQ(Json::parse(DumpJson(ErrorBody(error)))["error"]["message"], "got \ufffd");
}

TEST(JsonBody, ShortNumbersReadBackAsTheSameFloat) {
  EXPECT_EQ(DumpJson(ShortNumber(-0.1F)), "-0.1");
  EXPECT_EQ(DumpJson(ShortNumber(-2.3841855e-07F)), "-2.3841855e-07");
  for (float value = -1e-9F; value > -1e9F; value *= 1.37F) {
    EXPECT_EQ(static_cast<float>(Json::parse(DumpJson(ShortNumber(value))).get<double>()), value);
  }
}

}  // namespace
}  // namespace hearth::api
