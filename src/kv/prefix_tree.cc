#include "kv/prefix_tree.h"

#include <algorithm>
#include <string>
#include <utility>

#include "hearth/error.h"

namespace hearth {

struct PrefixTree::Node {
  Node* parent = nullptr;
  std::string_view space;  // the key of its root
  std::vector<TokenId> tokens;
  PageId page = 0;
  Siblings children;
  std::list<Node*>::iterator place;
  bool stays = false;  // scratch of CountEvictable, false between its calls
};

namespace {

std::size_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const std::size_t most = std::min(a.size(), b.size());
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(most), b.begin()).first -
      a.begin()
  );
}

bool StartsWith(std::span<const TokenId> tokens, std::span<const TokenId> prefix) {
  return CommonPrefix(tokens, prefix) == prefix.size();
}

// The block of `tokens` that begins at `begin`.
std::span<const TokenId> BlockAt(std::span<const TokenId> tokens, std::size_t begin) {
  return tokens.subspan(begin, std::min(kPageTokens, tokens.size() - begin));
}

}  // namespace

bool PrefixTree::ByTokens::operator()(
    std::span<const TokenId> a, std::span<const TokenId> b
) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

PrefixTree::PrefixTree(PagePool& pool, std::size_t most_pages)
    : pool_(&pool), most_pages_(most_pages) {
}

PrefixTree::~PrefixTree() {
  Clear();
}

std::size_t PrefixTree::Match(
    std::string_view space, std::span<const TokenId> tokens, std::size_t most
) const {
  return Find(space, tokens.first(std::min(most, tokens.size()))).length;
}

KvSequence PrefixTree::Take(
    std::string_view space, std::span<const TokenId> tokens, std::size_t most
) {
  const Found found = Find(space, tokens.first(std::min(most, tokens.size())));
  MoveToNewest(found.deepest);
  std::vector<PageId> table;
  for (const Node* node = found.deepest; node != nullptr; node = node->parent) {
    table.push_back(node->page);
  }
  std::reverse(table.begin(), table.end());
  return KvSequence(*pool_, table, found.length);
}

void PrefixTree::Put(
    std::string_view space, std::span<const TokenId> tokens, const KvSequence& sequence
) {
  if (&sequence.pool() != pool_) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "prefix tree: got a sequence of another pool, wanted one of the tree's"
    );
  }
  if (tokens.size() > sequence.length()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "prefix tree: got " + std::to_string(tokens.size()) + " tokens to cache, wanted at most " +
            std::to_string(sequence.length()) + ", which the sequence holds"
    );
  }
  if (most_pages_ == 0) {
    return;
  }
  // Down along what is there. A longer sibling that begins with the last block holds it as well.
  Node* tip = nullptr;
  std::size_t begin = 0;
  for (; begin < tokens.size(); begin += kPageTokens) {
    const Siblings* children = Children(space, tip);
    if (children == nullptr) {
      break;
    }
    const std::span<const TokenId> block = BlockAt(tokens, begin);
    const auto next = children->lower_bound(block);
    if (next == children->end() || !StartsWith(next->first, block)) {
      break;
    }
    tip = next->second.get();
  }
  MoveToNewest(tip);
  for (; begin < tokens.size(); begin += kPageTokens) {
    const std::span<const TokenId> block = BlockAt(tokens, begin);
    if (const Siblings* children = Children(space, tip); children != nullptr) {
      // Siblings are no prefixes of each other, so nothing can lie between a prefix of the block and the block.
      const auto next = children->lower_bound(block);
      if (next != children->begin() && StartsWith(block, std::prev(next)->first)) {
        Remove(std::prev(next)->second.get());
      }
    }
    if (pages() == most_pages_) {
      if (order_.front() == tip) {
        return;  // nothing is left but this very path
      }
      Remove(order_.front());
    }
    tip = Add(space, tip, block, sequence.table()[begin / kPageTokens]);
  }
}

void PrefixTree::Touch(std::string_view space, std::span<const TokenId> tokens) {
  MoveToNewest(Find(space, tokens).deepest);
}

std::size_t PrefixTree::Evict(std::size_t pages) {
  std::size_t freed = 0;
  for (auto next = order_.begin(); next != order_.end() && freed < pages;) {
    Node* node = *next++;
    if (node->children.empty() && pool_->holders(node->page) == 1) {
      Remove(node);
      ++freed;
    }
  }
  return freed;
}

std::size_t PrefixTree::EvictableBeside(
    std::string_view space, std::span<const TokenId> tokens, std::size_t most
) const {
  return CountEvictable(Find(space, tokens.first(std::min(most, tokens.size()))).deepest);
}

std::size_t PrefixTree::CountEvictable(Node* held) const {
  if (held != nullptr) {
    held->stays = true;
  }
  std::size_t count = 0;
  for (Node* node : order_) {
    if (std::exchange(node->stays, false) || pool_->holders(node->page) > 1) {
      if (node->parent != nullptr) {
        node->parent->stays = true;
      }
    } else {
      ++count;
    }
  }
  return count;
}

void PrefixTree::Clear() {
  // From the leaves: destroying a long path from its root would need as deep a stack.
  while (!order_.empty()) {
    Remove(order_.front());
  }
}

PrefixTree::Found PrefixTree::Find(std::string_view space, std::span<const TokenId> tokens) const {
  Found found;
  while (found.length < tokens.size()) {
    const Siblings* children = Children(space, found.deepest);
    if (children == nullptr) {
      break;
    }
    const std::span<const TokenId> block = BlockAt(tokens, found.length);
    const auto next = children->lower_bound(block);
    std::size_t common = 0;
    Node* best = nullptr;
    if (next != children->end()) {
      common = CommonPrefix(next->first, block);
      best = next->second.get();
    }
    if (next != children->begin() && common < block.size()) {
      const auto before = std::prev(next);
      if (const std::size_t other = CommonPrefix(before->first, block); other > common) {
        common = other;
        best = before->second.get();
      }
    }
    if (common == 0) {
      break;
    }
    found = {best, found.length + common};
    if (common < kPageTokens) {
      break;
    }
  }
  return found;
}

const PrefixTree::Siblings* PrefixTree::Children(std::string_view space, const Node* parent) const {
  if (parent != nullptr) {
    return &parent->children;
  }
  const auto root = roots_.find(space);
  return root == roots_.end() ? nullptr : &root->second;
}

void PrefixTree::MoveToNewest(const Node* deepest) {
  for (const Node* node = deepest; node != nullptr; node = node->parent) {
    order_.splice(order_.end(), order_, node->place);
  }
}

PrefixTree::Node* PrefixTree::Add(
    std::string_view space, Node* parent, std::span<const TokenId> block, PageId page
) {
  auto root = roots_.find(space);
  if (root == roots_.end()) {
    root = roots_.try_emplace(std::string(space)).first;
  }
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->parent = parent;
  node->space = root->first;
  node->tokens.assign(block.begin(), block.end());
  node->page = page;
  // What can fail comes first: from the emplace on, nothing does.
  std::list<Node*> place{node};
  node->place = place.begin();
  Siblings& siblings = parent == nullptr ? root->second : parent->children;
  siblings.emplace(node->tokens, std::move(owned));
  order_.splice(parent == nullptr ? order_.end() : parent->place, place);
  pool_->AddHolder(page);
  return node;
}

void PrefixTree::Remove(Node* node) {
  const auto root = roots_.find(node->space);
  Siblings& siblings = node->parent == nullptr ? root->second : node->parent->children;
  pool_->Release(node->page);
  order_.erase(node->place);
  siblings.erase(siblings.find(node->tokens));
  if (root->second.empty()) {
    roots_.erase(root);
  }
}

}  // namespace hearth
