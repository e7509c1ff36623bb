#include "support/counted_allocation.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace hearth {
namespace {

std::atomic<std::size_t> allocated{0};
std::atomic<std::size_t> peak{0};

void* Count(void* memory) {
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  const std::size_t bytes = malloc_usable_size(memory);
  const std::size_t now = allocated.fetch_add(bytes) + bytes;
  std::size_t seen = peak.load();
  while (seen < now && !peak.compare_exchange_weak(seen, now)) {
  }
  return memory;
}

void Free(void* memory) {
  if (memory != nullptr) {
    allocated.fetch_sub(malloc_usable_size(memory));
    std::free(memory);
  }
}

void* Aligned(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  const int failed = posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes);
  return Count(failed == 0 ? memory : nullptr);
}

}  // namespace

std::size_t AllocatedBytes() {
  return allocated.load();
}

std::size_t PeakAllocatedBytes() {
  return peak.load();
}

void RestartPeak() {
  peak.store(allocated.load());
}

}  // namespace hearth

// The other forms of the standard library end in these.
void* operator new(std::size_t bytes) {
  return hearth::Count(std::malloc(bytes == 0 ? 1 : bytes));
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return hearth::Aligned(bytes, alignment);
}

void operator delete(void* memory) noexcept {
  hearth::Free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  hearth::Free(memory);
}

void operator delete(void* memory, std::align_val_t) noexcept {
  hearth::Free(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  hearth::Free(memory);
}
