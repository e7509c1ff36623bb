#include "kv/page_pool.h"

#include <cstring>
#include <string>

#include "hearth/error.h"

namespace hearth {

PagePool::PagePool(const KvLayout& layout, std::size_t capacity)
    : layout_(layout), capacity_(capacity) {
}

PageId PagePool::Acquire() {
  if (free_.empty()) {
    if (pages_.size() == capacity_) {
      throw Error(
          ErrorCode::kResourceExhausted,
          "kv pages: all " + std::to_string(capacity_) + " of " + std::to_string(kPageTokens) +
              " tokens are in use"
      );
    }
    pages_.emplace_back();
    pages_.back().memory.Resize(layout_.PageBytes());
    free_.push_back(static_cast<PageId>(pages_.size() - 1));
  }
  const PageId page = free_.back();
  free_.pop_back();
  pages_[page].holders = 1;
  ++used_;
  return page;
}

void PagePool::AddHolder(PageId page) {
  ++pages_[page].holders;
}

void PagePool::Release(PageId page) {
  if (--pages_[page].holders == 0) {
    free_.push_back(page);
    --used_;
  }
}

std::byte* PagePool::LayerPart(PageId page, std::size_t layer) {
  return pages_[page].memory.data() + layer * layout_.LayerBytes();
}

void PagePool::Copy(PageId from, PageId to) {
  std::memcpy(pages_[to].memory.data(), pages_[from].memory.data(), layout_.PageBytes());
}

}  // namespace hearth
