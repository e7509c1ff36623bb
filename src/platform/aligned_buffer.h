// Aligned memory for kernels: one owner, cache-line aligned, uninitialised unless asked.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace hearth {

// What an allocation takes at most beyond its bytes: bookkeeping, alignment, the rest of its last page.
inline constexpr std::size_t kAllocationSlack = 4096 + 128;

// An array of trivial T on a 64-byte boundary, so that a vector load of any instruction set is aligned.
// Ownership: the buffer owns its memory; moving leaves the source empty.
// Threads:   none of its own; readers and writers agree elsewhere.
// Errors:    std::bad_alloc.
template <typename T>
class AlignedBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::align_val_t kAlignment{64};

  AlignedBuffer() = default;

  // `count` elements, all bytes zero.
  explicit AlignedBuffer(std::size_t count) { Resize(count); }

  // Makes room for `count` zeroed elements; the old contents are gone. Keeps the memory when it suffices.
  void Resize(std::size_t count) {
    if (count > capacity_) {
      // The old memory goes first, so that the two never stand beside each other.
      data_.reset();
      size_ = capacity_ = 0;
      data_.reset(static_cast<T*>(::operator new(count * sizeof(T), kAlignment)));
      capacity_ = count;
    }
    size_ = count;
    std::uninitialized_fill_n(data_.get(), count, T{});
  }

  // Makes room for at least `count` elements without touching them when the memory suffices: for
  // scratch that is written before it is read.
  void Reserve(std::size_t count) {
    if (count > capacity_) {
      Resize(count);
    }
    size_ = count;
  }

  T* data() { return data_.get(); }

  const T* data() const { return data_.get(); }

  std::size_t size() const { return size_; }

  T& operator[](std::size_t index) { return data_.get()[index]; }

  const T& operator[](std::size_t index) const { return data_.get()[index]; }

 private:
  struct Free {
    void operator()(T* pointer) const { ::operator delete(pointer, kAlignment); }
  };

  std::unique_ptr<T, Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace hearth
