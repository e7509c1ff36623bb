#include "platform/memory_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "platform/peak_memory.h"

namespace hearth {
namespace {

// Sets a soft limit and puts the old one back.
class SoftLimit {
 public:
  SoftLimit(__rlimit_resource resource, rlim_t bytes) : resource_(resource) {
    getrlimit(resource_, &old_);
    struct rlimit changed = old_;
    changed.rlim_cur = std::min(bytes, old_.rlim_max);
    set_ = setrlimit(resource_, &changed) == 0;
  }

  ~SoftLimit() { setrlimit(resource_, &old_); }

  bool set() const { return set_; }

 private:
  __rlimit_resource resource_;
  struct rlimit old_{};
  bool set_ = false;
};

constexpr std::size_t kLimit = std::size_t{1}
                               << 46;  // far above what any test takes, sanitizers too

TEST(MemoryLimits, PhysicalMemoryAndStacks) {
  const MemoryLimits limits = ReadMemoryLimits();
  EXPECT_EQ(limits.physical, PhysicalMemoryBytes());
  EXPECT_GE(limits.thread_stack, std::size_t{16} << 10);
  EXPECT_LT(limits.thread_stack, std::size_t{1} << 40);
}

TEST(MemoryLimits, SoftLimitsOfTheProcess) {
  const MemoryLimits before = ReadMemoryLimits();
  {
    const SoftLimit data(RLIMIT_DATA, kLimit);
    ASSERT_TRUE(data.set());
    EXPECT_EQ(ReadMemoryLimits().data, std::min(before.data, kLimit));
    EXPECT_EQ(ReadMemoryLimits().address_space, before.address_space);
  }
  {
    const SoftLimit space(RLIMIT_AS, kLimit + 4096);
    ASSERT_TRUE(space.set());
    EXPECT_EQ(ReadMemoryLimits().address_space, std::min(before.address_space, kLimit + 4096));
    EXPECT_EQ(ReadMemoryLimits().data, before.data);
  }
  EXPECT_EQ(ReadMemoryLimits().data, before.data);
}

}  // namespace
}  // namespace hearth
