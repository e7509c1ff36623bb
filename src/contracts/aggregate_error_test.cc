#include "contracts/aggregate_error.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace hearth {
namespace {

std::exception_ptr Failure(const char* message) {
  return std::make_exception_ptr(std::runtime_error(message));
}

TEST(AggregateError, KeepsEveryMember) {
  const AggregateError error("cleanup failed", {Failure("a"), Failure("b")});
  ASSERT_EQ(error.errors().size(), 2U);
  EXPECT_EQ(ErrorMessage(error.errors()[0]), "a");
  EXPECT_EQ(ErrorMessage(error.errors()[1]), "b");
  EXPECT_STREQ(error.what(), "cleanup failed");
  EXPECT_EQ(error.code(), ErrorCode::kInternal);
}

TEST(AggregateError, IsDescribedRecursively) {
  const auto inner = std::make_exception_ptr(AggregateError("inner", {Failure("b"), Failure("c")}));
  const auto outer = std::make_exception_ptr(AggregateError("outer", {Failure("a"), inner}));
  EXPECT_EQ(DescribeError(outer), "outer [a; inner [b; c]]");
  EXPECT_EQ(ErrorMessage(outer), "outer");
}

TEST(AggregateError, DescribesWhatIsNoException) {
  EXPECT_EQ(DescribeError(std::make_exception_ptr(7)), "unknown error");
  EXPECT_EQ(DescribeError(nullptr), "no error");
  EXPECT_EQ(DescribeError(Failure("plain")), "plain");
}

}  // namespace
}  // namespace hearth
