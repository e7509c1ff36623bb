#include "server/http/api_keys.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "hearth/error.h"
#include "support/expect_error.h"

namespace hearth {
namespace {

using Verdict = ApiKeys::Verdict;

ApiKeys TwoKeys() {
  ApiKeys keys;
  keys.Add("first-key");
  keys.Add("second");
  return keys;
}

class KeyFile {
 public:
  explicit KeyFile(const std::string& text) : path_(testing::TempDir() + "hearth_api_keys_test") {
    std::ofstream(path_, std::ios::binary) << text;
  }

  ~KeyFile() { std::remove(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ApiKeys, EverybodyMayWithoutKeys) {
  EXPECT_EQ(ApiKeys().Check({}), Verdict::kGranted);
  EXPECT_EQ(ApiKeys().Check({{"Authorization", "Bearer x"}}), Verdict::kGranted);
}

TEST(ApiKeys, ReadsBearerAndXApiKey) {
  const ApiKeys keys = TwoKeys();
  EXPECT_EQ(keys.Check({{"Authorization", "Bearer first-key"}}), Verdict::kGranted);
  EXPECT_EQ(keys.Check({{"authorization", "bearer  second "}}), Verdict::kGranted);
  EXPECT_EQ(keys.Check({{"x-api-key", "second"}}), Verdict::kGranted);
  EXPECT_EQ(keys.Check({}), Verdict::kMissing);
  EXPECT_EQ(keys.Check({{"Cookie", "second"}}), Verdict::kMissing);
}

TEST(ApiKeys, RefusesEverythingElse) {
  const ApiKeys keys = TwoKeys();
  for (const char* wrong :
       {"",
        "Bearer",
        "Bearer ",
        "Bearer first-ke",
        "Bearer first-keyy",
        "Bearer First-key",
        "Bearer second\tx",
        "Basic second",
        "second",
        "Bearersecond",
        "Bearer secondsecond"}) {
    EXPECT_EQ(keys.Check({{"Authorization", wrong}}), Verdict::kWrong) << wrong;
  }
  for (const char* wrong : {"", "secon", "seconds", "Bearer second", "secondsecond"}) {
    EXPECT_EQ(keys.Check({{"X-Api-Key", wrong}}), Verdict::kWrong) << wrong;
  }
}

TEST(ApiKeys, OfSeveralKeysEachMustBeRight) {
  const ApiKeys keys = TwoKeys();
  EXPECT_EQ(
      keys.Check({{"Authorization", "Bearer second"}, {"X-Api-Key", "first-key"}}),
      Verdict::kGranted
  );
  EXPECT_EQ(keys.Check({{"Authorization", "Bearer second"}, {"X-Api-Key", "x"}}), Verdict::kWrong);
  EXPECT_EQ(
      keys.Check({{"Authorization", "Bearer x"}, {"Authorization", "Bearer second"}}),
      Verdict::kWrong
  );
}

TEST(ApiKeys, ReadsAFileOfLines) {
  const KeyFile file("# for the team\nalpha\r\n\n  beta \n#gamma\ndelta");
  ApiKeys keys;
  keys.AddFile(file.path());
  EXPECT_EQ(keys.size(), 3u);
  for (const char* key : {"alpha", "beta", "delta"}) {
    EXPECT_EQ(keys.Check({{"X-Api-Key", key}}), Verdict::kGranted) << key;
  }
  EXPECT_EQ(keys.Check({{"X-Api-Key", "#gamma"}}), Verdict::kWrong);
}

TEST(ApiKeys, ErrorsNameThePlaceAndNotTheKey) {
  ApiKeys keys;
  ExpectError([&] { keys.Add(""); }, ErrorCode::kInvalidArgument, "API key 1: got 0 bytes");
  ExpectError([&] { keys.Add("a b"); }, ErrorCode::kInvalidArgument, "visible ASCII");
  ExpectError(
      [&] { keys.Add(std::string(513, 'k')); }, ErrorCode::kInvalidArgument, "got 513 bytes"
  );
  const KeyFile broken("good\nse cret\n");
  ExpectError([&] { keys.AddFile(broken.path()); }, ErrorCode::kInvalidArgument, "line 2");
  try {
    keys.AddFile(broken.path());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("cret"), std::string::npos);
  }
  ExpectError([&] { keys.AddFile("/nowhere/keys"); }, ErrorCode::kIo, "/nowhere/keys");
  ExpectError([&] { keys.AddFile("/"); }, ErrorCode::kIo, "cannot be read");
  const KeyFile empty("# nothing\n\n");
  ExpectError([&] { keys.AddFile(empty.path()); }, ErrorCode::kInvalidArgument, "got no API key");
  const KeyFile giant(std::string((1 << 20) + 1, '\n'));
  ExpectError(
      [&] { keys.AddFile(giant.path()); }, ErrorCode::kInvalidArgument, "at most 1048576 bytes"
  );
}

TEST(ApiKeys, AreBounded) {
  ApiKeys keys;
  for (int i = 0; i < 1024; ++i) {
    keys.Add("k" + std::to_string(i));
  }
  ExpectError([&] { keys.Add("one-more"); }, ErrorCode::kInvalidArgument, "at most 1024 keys");
}

}  // namespace
}  // namespace hearth
