// Prefixes that were computed already, as a tree over pages: who begins with the same tokens shares the same pages. Knows
// tokens and pages; requests, sessions and counters are prompt_cache's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/token.h"
#include "kv/page_pool.h"
#include "kv/sequence.h"

namespace hearth {

// A node is a block of up to kPageTokens tokens and the page that holds their keys and values, in which the tree counts
// as one holder. Its children are the blocks that were seen after it; only a whole block has children. No block is a
// prefix of a sibling. Trees of different spaces share nothing: a space is the identity of all that shapes keys and
// values besides the tokens (adapters, media).
//
// Siblings are kept in the order of their tokens, not by hash: equality is decided by the tokens anyway, the neighbours of
// a block in that order are those that share most with it, and nobody can choose prompts that collide.
//
// Ownership: borrows the pool, which outlives it.
// Threads:   one at a time (the engine loop), between steps.
// Cost:      with p blocks in the prompt and s siblings at most: Match, Take and Put compare O(p log s) blocks and
//            change O(p) nodes. A node keeps its tokens (256 bytes) and a few pointers beside its page.
class PrefixTree {
 public:
  // Keeps at most `most_pages` pages; 0 keeps none.
  PrefixTree(PagePool& pool, std::size_t most_pages);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  // How many of the first `most` tokens are cached. Any length: the last page may be shared in part. Changes nothing.
  std::size_t Match(
      std::string_view space, std::span<const TokenId> tokens, std::size_t most
  ) const;

  // The sequence of those tokens, on the tree's pages; they become the most recently used. A page that is shared in
  // part is copied by the sequence's next Reserve, which takes one page more than the match suggests: a caller without
  // room for it truncates to whole pages and evicts.
  KvSequence Take(std::string_view space, std::span<const TokenId> tokens, std::size_t most);

  // Caches `tokens`, which are the first of `sequence`, and makes them the most recently used. Blocks that are there
  // stay on their pages; a block that goes on a shorter one takes its place. At the ceiling the least recently used
  // blocks go, whoever else holds their pages; what still finds no place is not cached.
  // A sequence that goes on writing copies its last page if that was cached in part: cache whole pages until it ends.
  // Errors: kInvalidArgument when the sequence holds fewer tokens or lies in another pool.
  void Put(std::string_view space, std::span<const TokenId> tokens, const KvSequence& sequence);

  // Makes the cached part of `tokens` the most recently used.
  void Touch(std::string_view space, std::span<const TokenId> tokens);

  // Gives pages back to the pool until `pages` have become free or nothing is left that would free one, least recently
  // used first; returns how many. Pages that a sequence holds too stay, since nothing would be won.
  // Cost: O(pages given back + pages passed over).
  std::size_t Evict(std::size_t pages);

  // How many pages Evict could free now. Cost: O(pages()).
  std::size_t evictable() const { return CountEvictable(nullptr); }

  // How many it could free once Take has shared the same prefix: who counts on both the prefix and the room needs this.
  // Cost: that of Match and O(pages()).
  std::size_t EvictableBeside(
      std::string_view space, std::span<const TokenId> tokens, std::size_t most
  ) const;

  std::size_t pages() const { return order_.size(); }

  std::size_t most_pages() const { return most_pages_; }

  // Forgets everything. Pages that sequences hold stay theirs, and are not shared with the tree any more.
  void Clear();

 private:
  struct Node;

  struct ByTokens {
    bool operator()(std::span<const TokenId> a, std::span<const TokenId> b) const;
  };

  // Keys are the tokens of the node.
  using Siblings = std::map<std::span<const TokenId>, std::unique_ptr<Node>, ByTokens>;

  struct Found {
    Node* deepest = nullptr;  // null when nothing matches
    std::size_t length = 0;
  };

  // As if a sequence held `held` too, which may be null.
  std::size_t CountEvictable(Node* held) const;
  Found Find(std::string_view space, std::span<const TokenId> tokens) const;
  const Siblings* Children(std::string_view space, const Node* parent) const;
  void MoveToNewest(const Node* deepest);
  Node* Add(std::string_view space, Node* parent, std::span<const TokenId> block, PageId page);
  void Remove(Node* node);

  PagePool* pool_;
  std::size_t most_pages_;
  std::map<std::string, Siblings, std::less<>> roots_;  // no empty ones
  // Least recently used first, and every node before its parent; so the first is a leaf, and whoever walks the list
  // from the front meets children first.
  std::list<Node*> order_;
};

}  // namespace hearth
