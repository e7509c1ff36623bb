#include "kv/sequence.h"

#include <algorithm>
#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth {
KvSequence::KvSequence(PagePool& pool, std::span<const PageId> table, std::size_t length)
    : pool_(&pool), length_(length) {
  if (table.size() != PagesFor(length)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "kv sequence: got " + std::to_string(table.size()) + " pages for " +
            std::to_string(length) + " tokens, wanted " + std::to_string(PagesFor(length))
    );
  }
  table_.assign(table.begin(), table.end());
  for (const PageId page : table_) {
    pool_->AddHolder(page);
  }
}

KvSequence::~KvSequence() {
  for (const PageId page : table_) {
    pool_->Release(page);
  }
}

KvSequence::KvSequence(KvSequence&& other) noexcept
    : pool_(other.pool_),
      length_(std::exchange(other.length_, 0)),
      table_(std::exchange(other.table_, {})) {
}

KvSequence KvSequence::Fork(std::size_t tokens) const {
  if (tokens > length_) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "kv fork: got " + std::to_string(tokens) + " tokens, wanted at most " +
            std::to_string(length_)
    );
  }
  return KvSequence(*pool_, table().first(PagesFor(tokens)), tokens);
}

std::size_t KvSequence::PagesToReserve(std::size_t count) const {
  if (count == 0) {
    return 0;
  }
  const std::size_t wanted = PagesFor(length_ + count);
  // Only the page in progress can be both shared and written: those after it are new, or ours alone
  // unless a fork took them with a part of their tokens.
  std::size_t pages = wanted > table_.size() ? wanted - table_.size() : 0;
  for (std::size_t i = length_ / kPageTokens; i < std::min(wanted, table_.size()); ++i) {
    pages += pool_->holders(table_[i]) > 1 ? 1u : 0u;
  }
  return pages;
}

void KvSequence::Reserve(std::size_t count) {
  if (count == 0) {
    return;
  }
  const std::size_t pages = PagesToReserve(count);
  if (pages > pool_->available()) {
    throw Error(
        ErrorCode::kResourceExhausted,
        "kv pages: got " + std::to_string(pages) + " more to take, wanted at most " +
            std::to_string(pool_->available()) + " of " + std::to_string(pool_->capacity())
    );
  }
  const std::size_t wanted = PagesFor(length_ + count);
  const std::size_t first_written = length_ / kPageTokens;
  table_.reserve(wanted);
  for (std::size_t i = first_written; i < std::min(wanted, table_.size()); ++i) {
    if (pool_->holders(table_[i]) > 1) {
      const PageId copy = pool_->Acquire();
      pool_->Copy(table_[i], copy);
      pool_->Release(std::exchange(table_[i], copy));
    }
  }
  while (table_.size() < wanted) {
    table_.push_back(pool_->Acquire());
  }
}

void KvSequence::Truncate(std::size_t tokens) {
  length_ = std::min(length_, tokens);
  while (table_.size() > PagesFor(length_)) {
    pool_->Release(table_.back());
    table_.pop_back();
  }
}

void KvSequence::LayerPages(std::size_t layer, std::span<std::byte*> out) const {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    out[i] = pool_->LayerPart(table_[i], layer);
  }
}

}  // namespace hearth
