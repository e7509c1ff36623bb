// What one field of a request may be: types, ranges, null, names in messages.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hearth/sampling_parameters.h"
#include "server/api/api_error.h"
#include "server/api/generation_fields.h"
#include "server/api/object_reader.h"
#include "server/api/sampling_fields.h"

namespace hearth::api {
namespace {

GenerationFields Read(const std::string& members) {
  const Json body = ParseBody("{" + members + "}");
  ObjectReader reader(body);
  GenerationFields fields = ReadGenerationFields(reader);
  for (const std::string& name : reader.Unknown()) {
    fields.unknown.push_back(name);
  }
  return fields;
}

// The error of a body that is refused; status 0 when it is not.
ApiError Refusal(const std::string& members) {
  try {
    Read(members);
  } catch (const RequestError& error) {
    return error.error();
  }
  ApiError accepted;
  accepted.status = 0;
  return accepted;
}

TEST(RequestFields, EveryFieldIsRead) {
  const GenerationFields fields = Read(R"(
    "model": "m", "temperature": 0.5, "top_k": 5, "top_p": 0.9, "min_p": 0.1, "min_tokens_to_keep": 2,
    "repetition_penalty": 1.1, "presence_penalty": -1, "frequency_penalty": 2,
    "repetition_context_size": 10, "presence_context_size": 0, "frequency_context_size": 30,
    "xtc_probability": 0.25, "xtc_threshold": 0.125, "logit_bias": {"3": -100, "4": 0.5}, "seed": 42,
    "n": 3, "stop": ["a", "b"], "stream": true, "stream_options": {"include_usage": true},
    "session_id": "s", "prompt_cache_key": "k", "cache_prompt": false)");
  SamplingFields sampling;
  sampling.temperature = 0.5;
  sampling.top_k = 5;
  sampling.top_p = 0.9;
  sampling.min_p = 0.1;
  sampling.min_tokens_to_keep = 2;
  sampling.repetition_penalty = 1.1;
  sampling.presence_penalty = -1;
  sampling.frequency_penalty = 2;
  sampling.repetition_context = 10;
  sampling.presence_context = 0;
  sampling.frequency_context = 30;
  sampling.xtc_probability = 0.25;
  sampling.xtc_threshold = 0.125;
  sampling.logit_bias = std::vector<LogitBias>{{3, -100}, {4, 0.5}};
  sampling.seed = 42;
  EXPECT_EQ(fields.sampling, sampling);
  EXPECT_EQ(fields.model, "m");
  EXPECT_EQ(fields.n, 3u);
  EXPECT_EQ(fields.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(fields.stream);
  EXPECT_TRUE(fields.include_usage);
  EXPECT_EQ(fields.session_id, "s");
  EXPECT_FALSE(fields.use_cache);
  EXPECT_TRUE(fields.unknown.empty());
}

TEST(RequestFields, Fault49_NullAndEmptyEqualAbsent) {
  const GenerationFields nothing = Read("");
  EXPECT_EQ(nothing.sampling, SamplingFields{});
  for (const char* name :
       {"model",
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "min_tokens_to_keep",
        "repetition_penalty",
        "presence_penalty",
        "frequency_penalty",
        "repetition_context_size",
        "presence_context_size",
        "frequency_context_size",
        "xtc_probability",
        "xtc_threshold",
        "logit_bias",
        "seed",
        "n",
        "stop",
        "stream",
        "stream_options",
        "session_id",
        "prompt_cache_key",
        "cache_prompt",
        "user",
        "metadata",
        "store",
        "service_tier",
        "tools",
        "tool_choice",
        "response_format",
        "audio",
        "guided_json"}) {
    const GenerationFields fields = Read("\"" + std::string(name) + "\": null");
    EXPECT_EQ(fields.sampling, nothing.sampling) << name;
    EXPECT_EQ(fields.n, 1u) << name;
    EXPECT_TRUE(fields.unknown.empty()) << name;
  }
  EXPECT_EQ(MergeSampling(Read(R"("logit_bias": {})").sampling, {}, {}), MergeSampling({}, {}, {}));
}

TEST(RequestFields, WrongTypesAndRangesAreNamed) {
  const std::vector<std::vector<std::string>> cases = {
      {R"("temperature": "hot")",
       "temperature",
       "temperature: got \"hot\", wanted a number from 0 to 100"},
      {R"("temperature": -0.1)",
       "temperature",
       "temperature: got -0.1, wanted a number from 0 to 100"},
      {R"("temperature": true)",
       "temperature",
       "temperature: got true, wanted a number from 0 to 100"},
      {R"("top_p": 1.5)", "top_p", "top_p: got 1.5, wanted a number from 0 to 1"},
      {R"("top_k": 1.5)", "top_k", "top_k: got 1.5, wanted a whole number from -1 to 4294967295"},
      {R"("top_k": -2)", "top_k", "top_k: got -2, wanted a whole number from -1 to 4294967295"},
      {R"("min_p": [0])", "min_p", "min_p: got an array, wanted a number from 0 to 1"},
      {R"("xtc_threshold": 0.6)",
       "xtc_threshold",
       "xtc_threshold: got 0.6, wanted a number from 0 to 0.5"},
      {R"("repetition_penalty": 0.0001)",
       "repetition_penalty",
       "repetition_penalty: got 0.0001, wanted 0 (off) or a number from 0.001 to 1000"},
      {R"("logit_bias": [1])",
       "logit_bias",
       "logit_bias: got an array, wanted an object of token ids to numbers"},
      {R"("logit_bias": {"x": 1})",
       "logit_bias",
       "logit_bias: got \"key x\", wanted an object of token ids to numbers"},
      {R"("logit_bias": {"-1": 1})",
       "logit_bias",
       "logit_bias: got \"key -1\", wanted an object of token ids to numbers"},
      {R"("logit_bias": {"7": "1"})",
       "logit_bias.7",
       "logit_bias.7: got \"1\", wanted a number within 1e9 either side"},
      {R"("seed": 1.5)", "seed", "seed: got 1.5, wanted a whole number of 64 bits"},
      {R"("seed": 18446744073709551616)",
       "seed",
       "seed: got 1.8446744073709552e+19, wanted a whole number of 64 bits"},
      {R"("n": 0)", "n", "n: got 0, wanted a whole number from 1 to 128"},
      {R"("n": 129)", "n", "n: got 129, wanted a whole number from 1 to 128"},
      {R"("n": 1e300)", "n", "n: got 1e+300, wanted a whole number from 1 to 128"},
      {R"("stop": "")", "stop", "stop: got \"\", wanted a string that is not empty"},
      {R"("stop": ["a", ""])", "stop[1]", "stop[1]: got \"\", wanted a string that is not empty"},
      {R"("stop": ["a", null])", "stop[1]", "stop[1]: got null, wanted a string that is not empty"},
      {R"("stop": 5)", "stop", "stop: got 5, wanted a string that is not empty"},
      {R"("stop": ["a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a","a"])",
       "stop",
       "stop: got 17, wanted at most 16 strings"},
      {R"("stream": 1)", "stream", "stream: got 1, wanted true or false"},
      {R"("stream_options": true)", "stream_options", "stream_options: got true, wanted an object"},
      {R"("stream_options": {"include_usage": 1})",
       "stream_options.include_usage",
       "stream_options.include_usage: got 1, wanted true or false"},
      {R"("model": 3)", "model", "model: got 3, wanted a string"},
      {R"("user": {})", "user", "user: got an object, wanted a string"},
      {R"("metadata": "x")", "metadata", "metadata: got \"x\", wanted an object"},
  };
  for (const auto& wanted : cases) {
    const ApiError error = Refusal(wanted[0]);
    EXPECT_EQ(error.status, 400) << wanted[0];
    EXPECT_EQ(error.param, wanted[1]) << wanted[0];
    EXPECT_EQ(error.message, wanted[2]);
  }
}

TEST(RequestFields, Fault28_FeaturesThatAreMissingAreRefusedByName) {
  for (const std::string members :
       {R"("tools": [{"type": "function"}])",
        R"("tool_choice": "required")",
        R"("functions": [{}])",
        R"("function_call": {"name": "f"})",
        R"("response_format": {"type": "json_object"})",
        R"("guided_json": {"a": 1})",
        R"("guided_regex": "a+")",
        R"("structured_outputs": {"regex": "a"})",
        R"("grammar": "root ::= x")",
        R"("json_schema": {"type": "object"})",
        R"("adapter": "a")",
        R"("adapters": "a+b")",
        R"("modalities": ["text", "audio"])",
        R"("audio": {"voice": "x"})",
        R"("prediction": {"type": "content"})",
        R"("web_search_options": {"a": 1})",
        R"("hlg": {"enabled": true})"}) {
    const ApiError error = Refusal(members);
    const std::string name = members.substr(1, members.find('"', 1) - 1);
    EXPECT_EQ(error.status, 400) << members;
    EXPECT_EQ(error.param, name);
    EXPECT_EQ(error.code, "unsupported_parameter");
    EXPECT_EQ(error.message.find(name + ": "), 0u) << error.message;
  }
}

TEST(RequestFields, ValuesThatAskForNothingAreAccepted) {
  for (const char* members :
       {R"("tools": [])",
        R"("tool_choice": "none")",
        R"("tool_choice": "auto")",
        R"("functions": [])",
        R"("function_call": "none")",
        R"("parallel_tool_calls": true)",
        R"("response_format": {"type": "text"})",
        R"("guided_choice": [])",
        R"("guided_json": null)",
        R"("structured_outputs": {})",
        R"("grammar": "")",
        R"("adapter": "")",
        R"("modalities": ["text"])",
        R"("hlg": {"enabled": false})",
        R"("store": true)",
        R"("user": "u")",
        R"("metadata": {"a": "b"})",
        R"("service_tier": "auto")",
        R"("stream_options": {"include_usage": true})",
        R"("top_k": 3.0)"}) {
    EXPECT_EQ(Refusal(members).status, 0) << members;
    EXPECT_TRUE(Read(members).unknown.empty()) << members;
  }
}

TEST(RequestFields, ValuesOfOtherServersThatMeanOff) {
  EXPECT_EQ(Read(R"("top_k": -1)").sampling.top_k, 0u);
  EXPECT_EQ(Read(R"("seed": -1)").sampling.seed, std::nullopt);
  EXPECT_EQ(Read(R"("seed": -2)").sampling.seed, ~std::uint64_t{1});
  EXPECT_EQ(Read(R"("seed": 18446744073709551615)").sampling.seed, ~std::uint64_t{0});
  EXPECT_EQ(Read(R"("stop": [])").stop.size(), 0u);
}

TEST(RequestFields, Fault47_TemperatureZeroWithTopP) {
  const SamplingParameters merged =
      MergeSampling(Read(R"("temperature": 0, "top_p": 0.5)").sampling, {}, {});
  EXPECT_TRUE(IsGreedy(merged));
}

TEST(RequestFields, UnknownFieldsAreCollected) {
  const GenerationFields fields =
      Read(R"("foo": 1, "n": 1, "stream_options": {"bar": 2}, "baz\n": null)");
  EXPECT_EQ(fields.unknown, (std::vector<std::string>{"stream_options.bar", "foo", "baz\n"}));
  EXPECT_EQ(
      WarningHeader(fields.unknown), "299 - \"fields ignored: stream_options.bar, foo, baz?x0a\""
  );
  EXPECT_EQ(WarningHeader({}), "");
  EXPECT_EQ(WarningHeader({"a\"\xc3\xa9\xff"}), "299 - \"fields ignored: a????xff\"");
  const std::string many = WarningHeader(std::vector<std::string>(12, std::string(500, 'x')));
  EXPECT_LT(many.size(), 800u);
  EXPECT_NE(many.find(" and 2 more"), std::string::npos);
}

TEST(RequestFields, TheFirstThatSaysItWins) {
  SamplingFields request;
  SamplingFields flags;
  SamplingFields model;
  SamplingParameters merged = MergeSampling(request, flags, model);
  SamplingParameters built_in;
  built_in.temperature = 0.7;
  EXPECT_EQ(merged, built_in);
  model = ReadGenerationConfig(ParseJson(
      R"({"temperature": 0.6, "top_k": 20, "top_p": 0.95, "repetition_penalty": 1.05, "min_p": 7, "eos_token_id": [1]})"
  ));
  EXPECT_EQ(model.min_p, std::nullopt);  // out of range: left out
  flags.top_k = 40;
  flags.top_p = 0.5;
  request.top_p = 0;
  merged = MergeSampling(request, flags, model);
  EXPECT_EQ(merged.temperature, 0.6);
  EXPECT_EQ(merged.top_k, 40u);
  EXPECT_EQ(merged.top_p, 0);
  EXPECT_EQ(merged.repetition_penalty, 1.05);
  Validate(merged);
  GenerationFields generation;
  generation.sampling = request;
  EXPECT_EQ(SamplingOf(generation, flags, model), merged);
  generation.top_logprobs = 4;
  EXPECT_EQ(SamplingOf(generation, flags, model).top_logprobs, 4u);
  EXPECT_EQ(
      ReadGenerationConfig(ParseJson(R"({"do_sample": false, "temperature": 1})")).temperature, 0
  );
  EXPECT_EQ(ReadGenerationConfig(ParseJson("[]")), SamplingFields{});
}

}  // namespace
}  // namespace hearth::api
