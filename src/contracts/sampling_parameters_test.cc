#include "hearth/sampling_parameters.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The message of the refusal, empty when there is none.
std::string Refusal(const SamplingParameters& parameters, std::size_t vocabulary_size = 0) {
  try {
    Validate(parameters, vocabulary_size);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
}

TEST(SamplingParameters, DefaultsAreValidAndGreedy) {
  EXPECT_EQ(Refusal({}, 10), "");
  EXPECT_TRUE(IsGreedy({}));
  EXPECT_TRUE(IsGreedy({.temperature = 1e-9}));
  EXPECT_FALSE(IsGreedy({.temperature = kGreedyBelow}));
}

TEST(SamplingParameters, EachErrorNamesFieldGotAndWanted) {
  EXPECT_EQ(Refusal({.temperature = -1}), "temperature: got -1, wanted a number from 0 to 100");
  EXPECT_EQ(Refusal({.top_p = 1.5}), "top_p: got 1.5, wanted a number from 0 to 1");
  EXPECT_EQ(Refusal({.min_p = -0.1}), "min_p: got -0.1, wanted a number from 0 to 1");
  EXPECT_EQ(Refusal({.min_tokens_to_keep = 0}), "min_tokens_to_keep: got 0, wanted at least 1");
  EXPECT_EQ(
      Refusal({.repetition_penalty = -1}),
      "repetition_penalty: got -1, wanted 0 (off) or a number from 0.001 to 1000"
  );
  EXPECT_EQ(
      Refusal({.presence_penalty = 1e7}),
      "presence_penalty: got 1e+07, wanted a number from -1e+06 to 1e+06"
  );
  EXPECT_EQ(
      Refusal({.frequency_penalty = -1e7}),
      "frequency_penalty: got -1e+07, wanted a number from -1e+06 to 1e+06"
  );
  EXPECT_EQ(Refusal({.xtc_probability = 2}), "xtc_probability: got 2, wanted a number from 0 to 1");
  EXPECT_EQ(
      Refusal({.xtc_threshold = 0.6}), "xtc_threshold: got 0.6, wanted a number from 0 to 0.5"
  );
  EXPECT_EQ(Refusal({.top_logprobs = 21}), "top_logprobs: got 21, wanted at most 20");
  EXPECT_EQ(
      Refusal({.logit_bias = {{.token = 3, .bias = 1e10}}}),
      "logit_bias of token 3: got 1e+10, wanted a number from -1e+09 to 1e+09"
  );
  EXPECT_EQ(
      Refusal({.logit_bias = {{.token = 10, .bias = 1}}}, 10),
      "logit_bias: got token 10, wanted an id below the vocabulary's 10"
  );
  EXPECT_EQ(
      Refusal({.logit_bias = std::vector<LogitBias>(65537)}),
      "logit_bias: got 65537 entries, wanted at most 65536"
  );
}

TEST(SamplingParameters, TheBoundsThemselvesAreAccepted) {
  EXPECT_EQ(
      Refusal(
          {
              .temperature = 100,
              .top_p = 0,
              .min_p = 1,
              .repetition_penalty = 0,
              .presence_penalty = -1e6,
              .frequency_penalty = 1e6,
              .logit_bias = {{.token = 9, .bias = -1e9}},
              .xtc_probability = 1,
              .xtc_threshold = 0.5,
              .top_logprobs = 20,
          },
          10
      ),
      ""
  );
}

TEST(SamplingParameters, NumbersThatAreNoneAreRefusedEverywhere) {
  const std::vector<double SamplingParameters::*> fields = {
      &SamplingParameters::temperature,
      &SamplingParameters::top_p,
      &SamplingParameters::min_p,
      &SamplingParameters::repetition_penalty,
      &SamplingParameters::presence_penalty,
      &SamplingParameters::frequency_penalty,
      &SamplingParameters::xtc_probability,
      &SamplingParameters::xtc_threshold,
  };
  for (const auto field : fields) {
    for (const double bad : {kNan, kInfinity, -kInfinity}) {
      SamplingParameters parameters;
      parameters.*field = bad;
      EXPECT_NE(Refusal(parameters), "") << bad;
    }
  }
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_NE(Refusal({.logit_bias = {{.token = 0, .bias = bad}}}), "") << bad;
  }
}

}  // namespace
}  // namespace hearth
