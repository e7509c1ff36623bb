#include "platform/usable_cores.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "platform/control_group.h"
#include "platform/peak_memory.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

// A machine made of files.
class UsableCoresTest : public ::testing::Test {
 public:
  UsableCoresTest()
      : root_(
            fs::path(::testing::TempDir()) /
            ("usable_cores_" + std::to_string(getpid()) +
             ::testing::UnitTest::GetInstance()->current_test_info()->name())
        ) {}

  ~UsableCoresTest() override { fs::remove_all(root_); }

 protected:
  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  void Siblings(int cpu, const std::string& list) const {
    Write(
        "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        list + "\n"
    );
  }

  // Version 2 alone, as most distributions have it.
  void Version2(const std::string& group, const std::string& top = "/") const {
    Write(
        "proc/self/mountinfo",
        "24 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "31 24 0:26 " +
            top + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    );
    Write("proc/self/cgroup", "0::" + group + "\n");
  }

  void Version1(const std::string& group, const std::string& top = "/") const {
    Write(
        "proc/self/mountinfo",
        "32 31 0:29 " + top +
            " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
            "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    );
    Write(
        "proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:" + group + "\n1:name=systemd:/x\n0::/\n"
    );
  }

  int Cores(std::vector<int> allowed = {0, 1, 2, 3, 4, 5, 6, 7}) const {
    return UsableCores(root_, allowed);
  }

  fs::path root_;
};

TEST_F(UsableCoresTest, WithoutAnyFileTheMaskCounts) {
  EXPECT_EQ(Cores(), 8);
  EXPECT_EQ(Cores({5}), 1);
  EXPECT_EQ(Cores({}), 1);
}

TEST_F(UsableCoresTest, SiblingsCountOnce) {
  for (int cpu = 0; cpu < 4; ++cpu) {
    Siblings(cpu, std::to_string(cpu) + "," + std::to_string(cpu + 4));
    Siblings(cpu + 4, std::to_string(cpu) + "," + std::to_string(cpu + 4));
  }
  EXPECT_EQ(Cores(), 4);
  EXPECT_EQ(Cores({0, 4}), 1);
  EXPECT_EQ(Cores({4, 5}), 2);  // their siblings are not ours
  EXPECT_EQ(Cores({0, 1, 5}), 2);
}

TEST_F(UsableCoresTest, SiblingsMayBeARange) {
  for (int cpu = 0; cpu < 8; ++cpu) {
    Siblings(cpu, cpu < 4 ? "0-3" : "4-7");
  }
  EXPECT_EQ(Cores(), 2);
  EXPECT_EQ(Cores({1, 2, 7}), 2);
}

TEST_F(UsableCoresTest, StrangeListsDoNoHarm) {
  for (const char* list : {"", "x", "-4", "99999999999", ",,"}) {
    Siblings(1, list);
    EXPECT_EQ(Cores({0, 1}), 2) << list;
  }
}

TEST_F(UsableCoresTest, Version2) {
  Version2("/user.slice/job");
  EXPECT_EQ(Cores(), 8);
  Write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(Cores(), 8);
  Write("sys/fs/cgroup/user.slice/job/cpu.max", "300000 100000\n");
  EXPECT_EQ(Cores(), 3);
  Write("sys/fs/cgroup/user.slice/job/cpu.max", "210000 100000\n");
  EXPECT_EQ(Cores(), 3);  // a part of a core is a core
  Write("sys/fs/cgroup/user.slice/job/cpu.max", "1000 100000\n");
  EXPECT_EQ(Cores(), 1);
}

TEST_F(UsableCoresTest, TheTightestOfTheGroupsAroundBinds) {
  Version2("/a/b/c");
  Write("sys/fs/cgroup/a/b/c/cpu.max", "600000 100000\n");
  Write("sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  Write("sys/fs/cgroup/other/cpu.max", "100000 100000\n");
  EXPECT_EQ(Cores(), 2);
  Write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(Cores(), 1);
}

TEST_F(UsableCoresTest, Version1) {
  Version1("/batch/job");
  const std::string folder = "sys/fs/cgroup/cpu,cpuacct/batch/";
  Write(folder + "job/cpu.cfs_quota_us", "-1\n");
  Write(folder + "job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), 8);
  Write(folder + "job/cpu.cfs_quota_us", "200000\n");
  Write(folder + "job/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(Cores(), 4);
  Write(folder + "cpu.cfs_quota_us", "150000\n");
  Write(folder + "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), 2);
  // The groups of other controllers are not this one's.
  Write("sys/fs/cgroup/unified/m/cpu.max", "100000 100000\n");
  Write("sys/fs/cgroup/unified/batch/cpu.max", "100000 100000\n");
  EXPECT_EQ(Cores(), 2);
  Write("sys/fs/cgroup/unified/cpu.max", "100000 100000\n");
  EXPECT_EQ(Cores(), 1);
}

// A container without a namespace of its own sees its group's path on the host, and its group at the mount point.
TEST_F(UsableCoresTest, TheGroupMayBeTheMountPoint) {
  Version1("/docker/0123abcd", "/docker/0123abcd");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), 3);
  Version1("/docker/0123abcd/inner", "/docker/0123abcd");
  Write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "100000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Cores(), 1);
  // Outside of what is mounted: the mount point is the nearest that can be seen.
  Version2("/../elsewhere");
  Write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(Cores(), 2);
  Version2("/elsewhere", "/docker/0123abcd");
  EXPECT_EQ(Cores(), 2);
}

TEST_F(UsableCoresTest, MountPointsWithSpaces) {
  Write("proc/self/mountinfo", "31 24 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  Write("proc/self/cgroup", "0::/\n");
  Write("my groups/cpu.max", "100000 100000\n");
  EXPECT_EQ(Cores(), 1);
}

TEST_F(UsableCoresTest, FilesThatMakeNoSenseLimitNothing) {
  Version2("/a");
  for (const char* text : {"", "max", "-5 100000", "100000 0", "100000", "words words"}) {
    Write("sys/fs/cgroup/a/cpu.max", text);
    EXPECT_EQ(Cores(), 8) << text;
  }
  Write("proc/self/mountinfo", "31 24\n\n31 24 0:26 / /sys/fs/cgroup rw - cgroup2\n");
  EXPECT_EQ(Cores(), 8);
  Write("proc/self/cgroup", "nonsense\n0\n:\n");
  EXPECT_EQ(Cores(), 8);
}

TEST_F(UsableCoresTest, MemoryLimitsOfTheGroupsAround) {
  const std::size_t machine = PhysicalMemoryBytes(root_);
  EXPECT_GT(machine, std::size_t{1} << 20);
  Version2("/a/b");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(PhysicalMemoryBytes(root_), machine);
  Write("sys/fs/cgroup/a/memory.max", "1048576\n");
  EXPECT_EQ(PhysicalMemoryBytes(root_), 1048576u);
  Version1("/");
  Write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(PhysicalMemoryBytes(root_), machine);
  Write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "2097152\n");
  EXPECT_EQ(PhysicalMemoryBytes(root_), 2097152u);
}

TEST(UsableCores, OnThisMachine) {
  EXPECT_GE(UsableCores(), 1);
  EXPECT_LE(UsableCores(), sysconf(_SC_NPROCESSORS_CONF));
}

}  // namespace
}  // namespace hearth
