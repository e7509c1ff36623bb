#include "kv/page_pool.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

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
    // A page without memory must not count.
    Page page;
    page.memory.Resize(layout_.PageBytes());
    if (pages_.size() == pages_.capacity()) {
      const std::size_t more = std::max<std::size_t>(16, 2 * pages_.size());
      pages_.reserve(more);
      free_.reserve(more);  // so that Release never allocates
    }
    pages_.push_back(std::move(page));
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
