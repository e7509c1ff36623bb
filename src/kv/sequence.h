// The cached keys and values of one sequence: a page table over the pool.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kv/page_pool.h"

namespace hearth {

// Tokens 0 .. length-1 are cached; pages beyond may be reserved. Pages can be shared with other
// sequences; they are copied before they are written.
// Ownership: borrows the pool, which outlives it; holds its pages and releases them in the destructor.
// Threads:   one at a time (the engine loop).
class KvSequence {
 public:
  explicit KvSequence(PagePool& pool) : pool_(&pool) {}

  // `length` tokens that lie on the pages of `table` already, which are shared: each gets one holder more.
  // Errors: kInvalidArgument when the table is not as long as the tokens need.
  KvSequence(PagePool& pool, std::span<const PageId> table, std::size_t length);

  ~KvSequence();
  KvSequence(KvSequence&& other) noexcept;
  KvSequence& operator=(KvSequence&&) = delete;
  KvSequence(const KvSequence&) = delete;
  KvSequence& operator=(const KvSequence&) = delete;

  std::size_t length() const { return length_; }

  std::size_t pages() const { return table_.size(); }

  // The page of each block of kPageTokens tokens, in order; valid until the next call that changes the sequence.
  std::span<const PageId> table() const { return table_; }

  PagePool& pool() const { return *pool_; }

  // Another sequence with the same first `tokens` tokens (at most length), sharing their pages.
  KvSequence Fork(std::size_t tokens) const;

  // Pages that Reserve(count) would take from the pool.
  std::size_t PagesToReserve(std::size_t count) const;

  // Makes tokens length .. length + count - 1 writable: takes pages and copies a shared one that will be written.
  // Errors: kResourceExhausted; then nothing has changed.
  void Reserve(std::size_t count);

  // Counts `count` tokens, which Reserve has made room for and the model has written, as cached.
  void Advance(std::size_t count) { length_ += count; }

  // Forgets the tokens from `tokens` on and gives back the pages that only they used.
  void Truncate(std::size_t tokens);

  // Where each page's part of `layer` begins, in token order; writes into `out` [pages()].
  void LayerPages(std::size_t layer, std::span<std::byte*> out) const;

 private:
  PagePool* pool_;
  std::size_t length_ = 0;
  std::vector<PageId> table_;
};

}  // namespace hearth
