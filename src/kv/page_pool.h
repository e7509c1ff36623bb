// The pages that hold keys and values: a bounded pool with reference counts. Knows pages, not requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "platform/aligned_buffer.h"

namespace hearth {

using PageId = std::uint32_t;

// Pages that hold `tokens` tokens from the beginning of a page on.
inline std::size_t PagesFor(std::size_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

// What one token keeps: for each layer and key-value head, a key and a value of head_dim.
struct KvLayout {
  std::size_t layers;
  std::size_t kv_heads;
  std::size_t head_dim;
  KvStorage storage;

  // Bytes of a page: kPageTokens tokens of all layers. Layout: [layers, kv_heads] of the parts that
  // kernels/attention.h describes.
  std::size_t PageBytes() const { return layers * LayerBytes(); }

  std::size_t LayerBytes() const {
    return kv_heads * HeadPageValues(PaddedHeadDim(head_dim)) * KvBytes(storage);
  }
};

// Hands out pages of kPageTokens tokens. A page is free or has a count of holders; the last holder's Release
// frees it. A page with several holders is shared and must not be written.
// Ownership: owns the memory of all pages, made when a page is first used and kept until the pool ends.
// Threads:   one at a time (the engine loop); the kernels write page contents from the worker team.
class PagePool {
 public:
  // At most `capacity` pages.
  PagePool(const KvLayout& layout, std::size_t capacity);

  const KvLayout& layout() const { return layout_; }

  std::size_t capacity() const { return capacity_; }

  std::size_t used() const { return used_; }

  std::size_t available() const { return capacity_ - used_; }

  // A page with one holder; its contents are unspecified.
  // Errors: kResourceExhausted when all are used.
  PageId Acquire();

  void AddHolder(PageId page);
  void Release(PageId page);

  std::uint32_t holders(PageId page) const { return pages_[page].holders; }

  // Where a layer's part of the page begins: layout().LayerBytes() bytes.
  std::byte* LayerPart(PageId page, std::size_t layer);

  // Copies the whole contents of one page into another.
  void Copy(PageId from, PageId to);

 private:
  struct Page {
    AlignedBuffer<std::byte> memory;
    std::uint32_t holders = 0;
  };

  KvLayout layout_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::vector<Page> pages_;
  std::vector<PageId> free_;
};

}  // namespace hearth
