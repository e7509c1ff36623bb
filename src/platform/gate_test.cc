#include "platform/gate.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace hearth {
namespace {

TEST(Gate, NobodyEntersOnceItIsShut) {
  Gate gate;
  int entered = 0;
  EXPECT_TRUE(gate.Enter([&] { ++entered; }));
  gate.Shut();
  gate.Shut();
  EXPECT_FALSE(gate.Enter([&] { ++entered; }));
  EXPECT_EQ(entered, 1);
}

TEST(Gate, ShutWaitsForWhoIsInside) {
  for (int round = 0; round < 50; ++round) {
    Gate gate;
    int inside = 0;  // not atomic: the gate orders it
    std::thread other([&] {
      while (gate.Enter([&] { ++inside; })) {
      }
    });
    while (!gate.Enter([] {})) {
    }
    gate.Shut();
    const int seen = inside;
    other.join();
    EXPECT_EQ(inside, seen);
  }
}

TEST(Gate, AnErrorInsideLeavesItOpen) {
  Gate gate;
  EXPECT_THROW(gate.Enter([] { throw std::runtime_error("inside"); }), std::runtime_error);
  EXPECT_TRUE(gate.Enter([] {}));
}

}  // namespace
}  // namespace hearth
