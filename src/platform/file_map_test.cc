#include "platform/file_map.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth {
namespace {

class FileMapTest : public ::testing::Test {
 public:
  FileMapTest() {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("file_map_" + std::to_string(getpid()) +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }

  ~FileMapTest() override { std::filesystem::remove_all(folder_); }

 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  std::filesystem::path folder_;
};

std::string TextOf(const FileMap& map) {
  std::string text;
  for (const std::byte byte : map.bytes()) {
    text.push_back(static_cast<char>(byte));
  }
  return text;
}

void ExpectError(const std::filesystem::path& path, ErrorCode code, const std::string& reason) {
  try {
    const FileMap map(path);
    FAIL() << path << " was mapped";
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

// How many pages of the range are in this process's page tables; nothing where the system does not tell.
std::optional<std::size_t> MappedPages(std::span<const std::byte> range) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::vector<std::uint64_t> entries((range.size() + page - 1) / page);
  const std::size_t bytes = entries.size() * sizeof(entries[0]);
  const auto first = reinterpret_cast<std::uintptr_t>(range.data()) / page;
  const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const ssize_t got =
      pread(file, entries.data(), bytes, static_cast<off_t>(first * sizeof(entries[0])));
  close(file);
  if (got != static_cast<ssize_t>(bytes)) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](std::uint64_t e) { return (e >> 63) != 0; })
  );
}

TEST_F(FileMapTest, ShowsTheBytes) {
  const FileMap map(Write("a", "hearth"));
  EXPECT_EQ(TextOf(map), "hearth");
  EXPECT_EQ(map.name(), (folder_ / "a").string());
}

TEST_F(FileMapTest, AnEmptyFileHasNoBytes) {
  const FileMap map(Write("empty", ""));
  EXPECT_TRUE(map.bytes().empty());
  map.Advise(0, 10, FileAccess::kSoon);
  map.Release(0, 10);
}

TEST_F(FileMapTest, OutlivesTheName) {
  const auto path = Write("gone", "still here");
  const FileMap map(path);
  std::filesystem::remove(path);
  EXPECT_EQ(TextOf(map), "still here");
}

TEST_F(FileMapTest, SaysWhyItCannot) {
  ExpectError(
      folder_ / "none",
      ErrorCode::kNotFound,
      (folder_ / "none").string() + ": cannot be opened: No such file"
  );
  ExpectError(Write("file", "x") / "below", ErrorCode::kNotFound, "Not a directory");
  ExpectError(folder_, ErrorCode::kIo, "is a directory, wanted a regular file");
  ExpectError("/dev/null", ErrorCode::kIo, "is a device or pipe");
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  ExpectError(
      folder_ / "pipe", ErrorCode::kIo, "is a device or pipe"
  );  // and does not wait for a writer
  ExpectError(folder_ / "line\nbreak", ErrorCode::kNotFound, "line\\x0abreak");
}

TEST_F(FileMapTest, LeavesNoDescriptorOpen) {
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = count();
  const FileMap map(Write("a", "x"));
  EXPECT_EQ(count(), before);
}

TEST_F(FileMapTest, UnmapsAtTheEnd) {
  const std::byte* start = nullptr;
  {
    const FileMap map(Write("a", "x"));
    start = map.bytes().data();
  }
  EXPECT_NE(msync(const_cast<std::byte*>(start), 1, MS_ASYNC), 0);
}

TEST_F(FileMapTest, ReleaseGivesWholePagesBackAndKeepsTheBytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::string text(16 * page + 100, 'x');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>('a' + i % 23);
  }
  const FileMap map(Write("large", text));
  ASSERT_EQ(TextOf(map), text);
  if (!MappedPages(map.bytes())) {
    GTEST_SKIP() << "this system has no /proc/self/pagemap to look at";
  }
  ASSERT_EQ(MappedPages(map.bytes()), 17u);

  // From inside page 2 to inside page 5: pages 3 and 4 go.
  map.Release(2 * page + 1, 3 * page);
  EXPECT_EQ(MappedPages(map.bytes().subspan(2 * page, page)), 1u);
  EXPECT_EQ(MappedPages(map.bytes().subspan(3 * page, 2 * page)), 0u);
  EXPECT_EQ(MappedPages(map.bytes().subspan(5 * page, page)), 1u);
  EXPECT_EQ(TextOf(map), text);

  // The last, partial page goes with the end of the file; ends outside are cut.
  map.Release(16 * page, static_cast<std::size_t>(-1));
  EXPECT_EQ(MappedPages(map.bytes().subspan(16 * page)), 0u);
  map.Release(static_cast<std::size_t>(-1), static_cast<std::size_t>(-1));
  map.Release(0, 0);
  EXPECT_EQ(TextOf(map), text);
}

// The kernel's flags of the map that starts here ("sr" sequential, "rr" random); empty where it does not tell.
std::string MapFlags(const std::byte* start) {
  std::ifstream maps("/proc/self/smaps");
  std::ostringstream prefix;
  prefix << std::hex << reinterpret_cast<std::uintptr_t>(start) << '-';
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    inside = inside || line.starts_with(prefix.str());
    if (inside && line.starts_with("VmFlags:")) {
      return line;
    }
  }
  return "";
}

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_F(FileMapTest, AdviceReachesTheKernelAndChangesNoByte) {
  const std::string text(50000, 'q');
  const FileMap map(Write("a", text));
  const std::byte* start = map.bytes().data();
  if (MapFlags(start).empty()) {
    GTEST_SKIP() << "this system has no VmFlags in /proc/self/smaps to look at";
  }
  constexpr std::size_t kAll = static_cast<std::size_t>(-1);
  map.Advise(0, kAll, FileAccess::kSequential);
  EXPECT_TRUE(Contains(MapFlags(start), " sr"));
  map.Advise(0, text.size(), FileAccess::kRandom);
  EXPECT_TRUE(Contains(MapFlags(start), " rr"));
  map.Advise(5, kAll, FileAccess::kNormal);
  EXPECT_FALSE(Contains(MapFlags(start), " rr"));
  map.Advise(text.size(), kAll, FileAccess::kRandom);
  EXPECT_FALSE(Contains(MapFlags(start + 49152), " rr"));
  map.Advise(0, kAll, FileAccess::kSoon);
  EXPECT_EQ(TextOf(map), text);
}

}  // namespace
}  // namespace hearth
