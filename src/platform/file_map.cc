#include "platform/file_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

// Paths are shown whole up to here.
constexpr std::size_t kMaxShownPath = 4096;

[[noreturn]] void Fail(const std::string& name, const char* what, int reason) {
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  throw Error(
      missing ? ErrorCode::kNotFound : ErrorCode::kIo,
      name + ": " + what + ": " + std::generic_category().message(reason)
  );
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }

 private:
  int number_;
};

std::size_t PageBytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

int AdviceOf(FileAccess access) {
  switch (access) {
    case FileAccess::kNormal:
      return MADV_NORMAL;
    case FileAccess::kSequential:
      return MADV_SEQUENTIAL;
    case FileAccess::kRandom:
      return MADV_RANDOM;
    case FileAccess::kSoon:
      return MADV_WILLNEED;
  }
  return MADV_NORMAL;
}

// madvise takes a plain void*, though none of the advice used here writes.
void AdvisePages(std::span<const std::byte> range, int advice) noexcept {
  if (!range.empty()) {
    madvise(const_cast<std::byte*>(range.data()), range.size(), advice);
  }
}

}  // namespace

FileMap::FileMap(const std::filesystem::path& path)
    : name_(Printable(path.string(), kMaxShownPath)) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) {
    Fail(name_, "cannot be opened", errno);
  }
  struct stat status{};
  if (fstat(file.number(), &status) != 0) {
    Fail(name_, "cannot be inspected", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(
        ErrorCode::kIo,
        name_ + (S_ISDIR(status.st_mode) ? ": is a directory" : ": is a device or pipe") +
            ", wanted a regular file"
    );
  }
  if (status.st_size == 0) {
    return;  // mmap refuses a length of zero
  }
  if (static_cast<std::uintmax_t>(status.st_size) > std::numeric_limits<std::size_t>::max()) {
    Fail(name_, "cannot be mapped", EFBIG);
  }
  const std::size_t size = static_cast<std::size_t>(status.st_size);
  void* start = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number(), 0);
  if (start == MAP_FAILED) {
    Fail(name_, "cannot be mapped", errno);
  }
  bytes_ = {static_cast<const std::byte*>(start), size};
}

FileMap::~FileMap() {
  if (!bytes_.empty()) {
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

void FileMap::Advise(std::size_t offset, std::size_t count, FileAccess access) const noexcept {
  offset = std::min(offset, bytes_.size());
  const std::size_t end = offset + std::min(count, bytes_.size() - offset);
  if (offset < end) {
    const std::size_t start = offset - offset % PageBytes();
    AdvisePages(bytes_.subspan(start, end - start), AdviceOf(access));
  }
}

void FileMap::Release(std::size_t offset, std::size_t count) const noexcept {
  offset = std::min(offset, bytes_.size());
  std::size_t end = offset + std::min(count, bytes_.size() - offset);
  const std::size_t page = PageBytes();
  // The rest of the last page belongs to nobody, so the end of the file counts as a page's end.
  if (end < bytes_.size()) {
    end -= end % page;
  }
  const std::size_t start = offset + (page - offset % page) % page;
  if (start < end) {
    AdvisePages(bytes_.subspan(start, end - start), MADV_DONTNEED);
  }
}

}  // namespace hearth
