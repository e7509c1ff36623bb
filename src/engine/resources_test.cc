#include "engine/resources.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace hearth {
namespace {

// What the conformance suite does not reach: C++ life cycles, and values that cannot be copied.

TEST(Owned, DestructionReleasesOnce) {
  int released = 0;
  {
    const Owned<int> owner(7, [&](int value) { released += value; });
  }
  EXPECT_EQ(released, 7);
}

TEST(Owned, DestructionDropsTheReleasesError) {
  EXPECT_NO_THROW({ Owned<int> owner(7, [](int) { throw std::runtime_error("gone"); }); });
}

TEST(Owned, MovedFromHasEnded) {
  int released = 0;
  {
    Owned<std::unique_ptr<int>> first(std::make_unique<int>(3), [&](std::unique_ptr<int> value) {
      released += *value;
    });
    Owned<std::unique_ptr<int>> second(std::move(first));
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the point of the test
    EXPECT_THROW(first.Borrow(), Error);
    EXPECT_EQ(*second.Borrow(), 3);
  }
  EXPECT_EQ(released, 3);
}

TEST(Owned, TransferGivesTheValueAway) {
  int released = 0;
  std::unique_ptr<int> value;
  {
    Owned<std::unique_ptr<int>> owner(std::make_unique<int>(3), [&](auto) { ++released; });
    value = owner.Transfer();
  }
  EXPECT_EQ(*value, 3);
  EXPECT_EQ(released, 0);
}

TEST(Owned, ReleaseMayDestroyItsOwner) {
  std::unique_ptr<Owned<int>> owner;
  std::string seen;
  owner = std::make_unique<Owned<int>>(1, [&, text = std::string("a capture of the release")](int) {
    owner.reset();
    seen = text;
  });
  owner->Close();
  EXPECT_EQ(seen, "a capture of the release");
}

TEST(DisposeAll, SkipsNull) {
  Disposable* const nothing[] = {nullptr};
  EXPECT_NO_THROW(DisposeAll(nothing));
}

TEST(Attempts, FinishForgetsWhatItThrew) {
  Attempts attempts;
  attempts.Attempt([] { throw std::runtime_error("once"); });
  EXPECT_THROW(attempts.Finish(), std::runtime_error);
  EXPECT_NO_THROW(attempts.Finish());
}

TEST(WithResource, ReturnsNothingForVoid) {
  std::vector<std::string> calls;
  Owned<int> owner(1, [&](int) { calls.push_back("release"); });
  WithResource(owner, [&](int& value) { calls.push_back("use " + std::to_string(value)); });
  EXPECT_EQ(calls, (std::vector<std::string>{"use 1", "release"}));
}

TEST(WithResource, CopiesWhatUseReturnsByReference) {
  Owned<std::string> owner("text", [](const std::string&) {});
  const auto result = WithResource(owner, [](std::string& value) -> std::string& { return value; });
  EXPECT_EQ(result, "text");
}

}  // namespace
}  // namespace hearth
