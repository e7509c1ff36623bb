// The shared reader itself: a suite that is missing, cut short or broken must not pass.
#include "conformance/entries.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "contracts/aggregate_error.h"

namespace hearth::conformance {
namespace {

// A suite in a temporary folder that HEARTH_CONFORMANCE_DIR names while it lives.
class ReplacedSuite {
 public:
  ReplacedSuite()
      : root_(
            std::filesystem::path(testing::TempDir()) /
            ("hearth_suite_" +
             std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))
        ) {
    std::filesystem::create_directories(root_ / "part");
    if (const char* before = std::getenv("HEARTH_CONFORMANCE_DIR")) {
      before_ = before;
    }
    setenv("HEARTH_CONFORMANCE_DIR", root_.c_str(), 1);
  }

  ReplacedSuite(const ReplacedSuite&) = delete;
  ReplacedSuite& operator=(const ReplacedSuite&) = delete;

  ~ReplacedSuite() {
    if (before_.empty()) {
      unsetenv("HEARTH_CONFORMANCE_DIR");
    } else {
      setenv("HEARTH_CONFORMANCE_DIR", before_.c_str(), 1);
    }
    std::filesystem::remove_all(root_);
  }

  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ / "part" / name) << text;
    return root_ / "part" / name;
  }

  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
  std::string before_;
};

TEST(Entries, EveryFileOfAReplacedSuiteIsFound) {
  const ReplacedSuite suite;
  suite.Write("b.jsonl", "{}\n");
  suite.Write("a-1.jsonl", "{}\n");
  suite.Write("digest.json", "{}\n");
  const auto files = FilesOf("part");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(TestName(files[0]), "a_1");
  EXPECT_EQ(TestName(files[1]), "b");
  EXPECT_FALSE(IsBuiltIn());
  CheckFiles("part", {{"other.jsonl", 7}});  // numbers are those of the built-in copy
  EXPECT_TRUE(FilesOf("absent").empty());
}

TEST(Entries, AreReadWithTheirNames) {
  const ReplacedSuite suite;
  const auto entries = ReadEntries(suite.Write("a.jsonl", "{\"name\": \"first\"}\n{\"x\": 1}"));
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "first");
  EXPECT_EQ(entries[1].name, "line 2");
}

TEST(Entries, BrokenFilesAreErrors) {
  const ReplacedSuite suite;
  EXPECT_THROW(ReadEntries(suite.Write("empty.jsonl", "")), std::runtime_error);
  EXPECT_THROW(ReadEntries(suite.Write("cut.jsonl", "{}\n{\"name\": ")), std::runtime_error);
  EXPECT_THROW(ReadEntries(suite.Write("blank.jsonl", "{}\n\n{}\n")), std::runtime_error);
  EXPECT_THROW(ReadEntries(suite.root() / "part" / "absent.jsonl"), std::runtime_error);
}

// gtest's own test macro cannot use locals.
void CheckAMissingSuite() {
  CheckFiles("part", {});
}

TEST(Entries, ASuiteThatIsNotThereFails) {
  const ReplacedSuite suite;
  std::filesystem::remove_all(suite.root());
  EXPECT_FATAL_FAILURE(CheckAMissingSuite(), "is no directory");
}

TEST(Entries, ACutBuiltInCopyFails) {
  if (!IsBuiltIn()) {
    GTEST_SKIP() << "the suite is replaced";
  }
  EXPECT_NONFATAL_FAILURE(CheckFiles("resources", {{"named.jsonl", 38}}), "not complete");
}

TEST(Entries, AnEntryThatDiffersOrThrowsFailsByName) {
  const ReplacedSuite suite;
  const auto file = suite.Write("a.jsonl", "{\"name\": \"good\"}\n{\"name\": \"bad\"}\n");
  EXPECT_NONFATAL_FAILURE(
      ReplayFile(
          file,
          [](const Entry& entry, Report& report) {
            entry.name == "good" ? report.Pass() : report.Fail(entry.name, "differs");
          }
      ),
      "bad: differs"
  );
  EXPECT_NONFATAL_FAILURE(
      ReplayFile(
          file,
          [](const Entry& entry, Report& report) {
            if (entry.name == "bad") {
              throw std::runtime_error("no such thing");
            }
            report.Pass();
          }
      ),
      "bad: threw no such thing"
  );
}

TEST(Entries, FirstDifferenceNamesTheLine) {
  EXPECT_EQ(FirstDifference({"a", "b"}, {"a", "b"}), "");
  EXPECT_EQ(FirstDifference({"a", "b"}, {"a", "c"}), "line 2: got 'c', wanted 'b'");
  EXPECT_EQ(FirstDifference({"a", "b"}, {"a"}), "line 2: got the end, wanted 'b'");
  EXPECT_EQ(FirstDifference({"a"}, {"a", "b"}), "line 2: got 'b', wanted the end");
}

TEST(Entries, ErrorsAreWrittenAsInTheSuite) {
  const auto one = std::make_exception_ptr(std::runtime_error("one"));
  const auto all = std::make_exception_ptr(AggregateError("all", {one, one}));
  EXPECT_EQ(ErrorJson(one), Json::parse(R"({"message": "one"})"));
  EXPECT_EQ(
      ErrorJson(all),
      Json::parse(R"({"message": "all", "errors": [{"message": "one"}, {"message": "one"}]})")
  );
}

TEST(Entries, MissingNeedsAreNamed) {
  const Json entry = Json::parse(R"({"needs": ["wide_ids", "negative_limit"]})");
  EXPECT_EQ(MissingNeeds(entry, {"wide_ids"}), "wide_ids");
  EXPECT_EQ(MissingNeeds(entry, {"wide_ids", "negative_limit"}), "wide_ids, negative_limit");
  EXPECT_EQ(MissingNeeds(entry, {"fractional_ids"}), "");
  EXPECT_EQ(MissingNeeds(Json::object(), {"wide_ids"}), "");
}

}  // namespace
}  // namespace hearth::conformance
