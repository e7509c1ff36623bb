// Replays plan/*.jsonl and plan/digest.json against engine/execution_plan.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>

#include "conformance/entries.h"
#include "engine/execution_plan.h"

namespace hearth::conformance {
namespace {

struct Inputs {
  ExecutionRequirements request;
  ExecutionCapabilities capabilities;
  ExecutionFeatures features;
};

template <class S, std::size_t Count>
bool S::* FieldNamed(const std::array<NamedField<S>, Count>& fields, const std::string& name) {
  for (const auto& field : fields) {
    if (field.name == name) {
      return field.field;
    }
  }
  throw std::runtime_error("the plan has no input " + name);
}

// `method` is the suite's word for the model's own method.
ExecutionMethod MethodNamed(const std::string& name) {
  for (const auto method : {ExecutionMethod::kAutoregressive, ExecutionMethod::kDenoising}) {
    if (name == ExecutionMethodName(method)) {
      return method;
    }
  }
  throw std::runtime_error("a model has no method " + name);
}

Inputs ParseInputs(const Json& entry) {
  Inputs inputs;
  for (const auto& [name, value] : entry.at("request").items()) {
    inputs.request.*FieldNamed(kRequirementFields, name) = value.get<bool>();
  }
  for (const auto& [name, value] : entry.at("capabilities").items()) {
    if (name == "method") {
      inputs.capabilities.method = MethodNamed(value);
    } else {
      inputs.capabilities.*FieldNamed(kCapabilityFields, name) = value.get<bool>();
    }
  }
  for (const auto& [name, value] : entry.at("features").items()) {
    inputs.features.*FieldNamed(kFeatureFields, name) = value.get<bool>();
  }
  return inputs;
}

ResolvedExecution Resolve(const Inputs& inputs) {
  return ResolveExecution(inputs.request, inputs.capabilities, inputs.features);
}

Json PlanJson(const ResolvedExecution& plan) {
  Json json = {
      {"method", ExecutionMethodName(plan.method)},
      {"mechanism", ExecutionMechanismName(plan.mechanism)},
      {"reasons", plan.reasons.Texts()},
  };
  for (const auto& field : kPlanFields) {
    json[field.name] = plan.*field.field;
  }
  return json;
}

TEST(Plan, FilesAreComplete) {
  CheckFiles("plan", {{"cases.jsonl", 3000}});
}

class PlanFile : public testing::TestWithParam<std::filesystem::path> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PlanFile);

TEST_P(PlanFile, IsReplayed) {
  ReplayFile(GetParam(), [](const Entry& entry, Report& report) {
    const Json plan = PlanJson(Resolve(ParseInputs(entry.value)));
    const Json& expected = entry.value.at("expected");
    if (plan == expected) {
      report.Pass();
    } else {
      report.Fail(entry.name, "got " + plan.dump() + ", wanted " + expected.dump());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    Conformance, PlanFile, testing::ValuesIn(FilesOf("plan")), [](const auto& file) {
      return TestName(file.param);
    }
);

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    EXPECT_EQ(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr), 1);
  }

  void Add(const std::string& text) {
    EXPECT_EQ(EVP_DigestUpdate(context_.get(), text.data(), text.size()), 1);
  }

  std::string Hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    EXPECT_EQ(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size), 1);
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const unsigned char byte : std::span(bytes).first(size)) {
      hex += kDigits[byte >> 4U];
      hex += kDigits[byte & 15U];
    }
    return hex;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };

  std::unique_ptr<EVP_MD_CTX, Free> context_;
};

// The factors of the digest in its own bit order: each sets one bit of the inputs.
class Factors {
 public:
  explicit Factors(const Json& bit_order) {
    for (const Json& item : bit_order) {
      const auto name = item.get<std::string>();
      const std::string group = name.substr(0, name.find('.'));
      const std::string field = name.substr(name.find('.') + 1);
      if (group == "request") {
        request_.push_back(FieldNamed(kRequirementFields, field));
      } else if (group == "features") {
        features_.push_back(FieldNamed(kFeatureFields, field));
      } else if (!field.starts_with("method ")) {
        capabilities_.push_back(FieldNamed(kCapabilityFields, field));
      }
    }
    // The format fixes how many there are of each and that they follow one another.
    EXPECT_EQ(request_.size(), 10U);
    EXPECT_EQ(capabilities_.size(), 6U);
    EXPECT_EQ(features_.size(), 4U);
    EXPECT_EQ(bit_order.size(), 21U);
  }

  Inputs At(std::size_t index) const {
    Inputs inputs;
    const auto next_bit = [&index] {
      const bool bit = (index & 1U) != 0;
      index >>= 1U;
      return bit;
    };
    for (const auto field : request_) {
      inputs.request.*field = next_bit();
    }
    for (const auto field : capabilities_) {
      inputs.capabilities.*field = next_bit();
    }
    for (const auto field : features_) {
      inputs.features.*field = next_bit();
    }
    if (next_bit()) {
      inputs.capabilities.method = ExecutionMethod::kDenoising;
    }
    return inputs;
  }

 private:
  std::vector<bool ExecutionRequirements::*> request_;
  std::vector<bool ExecutionCapabilities::*> capabilities_;
  std::vector<bool ExecutionFeatures::*> features_;
};

std::string DigestLine(const ResolvedExecution& plan) {
  std::string line(ExecutionMethodName(plan.method));
  line += '|';
  line += ExecutionMechanismName(plan.mechanism);
  line += '|';
  for (const auto& field : kPlanFields) {
    line += plan.*field.field ? '1' : '0';
  }
  char separator = '|';
  for (const std::string_view reason : plan.reasons.Texts()) {
    line += separator;
    line += reason;
    separator = ',';
  }
  if (separator == '|') {
    line += separator;
  }
  return line;
}

TEST(Plan, DigestOverAllCombinations) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a pure function on one thread has nothing for the thread sanitizer";
#endif
  const std::filesystem::path path = SuiteDirectory() / "plan" / "digest.json";
  if (!IsBuiltIn() && !std::filesystem::exists(path)) {
    GTEST_SKIP() << "HEARTH_CONFORMANCE_DIR has no plan/digest.json";
  }
  std::ifstream stream(path);
  const Json digest = Json::parse(stream);
  ASSERT_EQ(digest.at("format"), "plan-digest-1");
  const std::size_t block_lines = digest.at("block_lines");
  const Json& blocks = digest.at("block_sha256");
  ASSERT_EQ(blocks.size() * block_lines, digest.at("lines").get<std::size_t>());
  ASSERT_EQ(digest.at("lines"), std::size_t{1} << 21U);

  const Factors factors(digest.at("bit_order"));
  for (const Json& sample : digest.at("sample_lines")) {
    const std::size_t index = sample.at("index");
    EXPECT_EQ(DigestLine(Resolve(factors.At(index))), sample.at("line")) << "combination " << index;
  }
  Sha256 whole;
  std::size_t index = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    Sha256 block;
    std::string lines;
    for (std::size_t i = 0; i < block_lines; ++i) {
      lines += DigestLine(Resolve(factors.At(index++))) + "\n";
    }
    block.Add(lines);
    whole.Add(lines);
    EXPECT_EQ(block.Hex(), blocks[b]) << "combinations of block " << b;
  }
  EXPECT_EQ(whole.Hex(), digest.at("sha256"));
}

}  // namespace
}  // namespace hearth::conformance
