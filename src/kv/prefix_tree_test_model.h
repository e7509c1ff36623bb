// What the prefix tree should hold, in the plainest way: a list of token vectors, searched from end to end.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hearth/token.h"
#include "kv/page_pool.h"
#include "kv/sequence.h"

namespace hearth::prefix_tree_test {

using Tokens = std::vector<TokenId>;

inline std::size_t Common(const Tokens& a, const Tokens& b) {
  std::size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) {
    ++i;
  }
  return i;
}

inline bool IsPrefix(const Tokens& prefix, const Tokens& tokens) {
  return Common(prefix, tokens) == prefix.size();
}

inline Tokens First(const Tokens& tokens, std::size_t count) {
  return Tokens(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
}

// One cached block with everything before it.
struct Entry {
  std::string space;
  Tokens tokens;
  PageId page;
  std::uint64_t used;

  std::size_t begin() const { return (tokens.size() - 1) / kPageTokens * kPageTokens; }

  bool Precedes(const Entry& other) const {
    return space == other.space && tokens.size() < other.tokens.size() &&
           IsPrefix(tokens, other.tokens);
  }
};

class Model {
 public:
  explicit Model(std::size_t most) : most_(most) {}

  const std::vector<Entry>& entries() const { return entries_; }

  std::size_t Match(const std::string& space, const Tokens& tokens, std::size_t most) const {
    std::size_t longest = 0;
    for (const Entry& entry : entries_) {
      if (entry.space == space) {
        longest = std::max(longest, std::min(most, Common(entry.tokens, tokens)));
      }
    }
    return longest;
  }

  // `page` says which of several that match equally was meant.
  void TouchTo(const std::string& space, PageId page) {
    const auto leaf = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.space == space && entry.page == page;
    });
    ASSERT_NE(leaf, entries_.end());
    const Entry deepest = *leaf;
    ++now_;
    for (Entry& entry : entries_) {
      if (entry.page == page || entry.Precedes(deepest)) {
        entry.used = now_;
      }
    }
  }

  void Put(const std::string& space, const Tokens& tokens, const KvSequence& sequence) {
    ++now_;
    for (std::size_t begin = 0; begin < tokens.size(); begin += kPageTokens) {
      const Tokens path = First(tokens, std::min(tokens.size(), begin + kPageTokens));
      Entry* covering = nullptr;
      for (Entry& entry : entries_) {
        if (entry.space == space && entry.begin() == begin && IsPrefix(path, entry.tokens) &&
            (covering == nullptr || entry.tokens < covering->tokens)) {
          covering = &entry;
        }
      }
      if (covering != nullptr) {
        covering->used = now_;
        continue;
      }
      std::erase_if(entries_, [&](const Entry& entry) {
        return entry.space == space && entry.begin() == begin && IsPrefix(entry.tokens, path);
      });
      if (entries_.size() == most_) {
        const auto oldest = Oldest([](const Entry&) { return true; });
        if (oldest == entries_.end() || oldest->used == now_) {
          return;
        }
        entries_.erase(oldest);
      }
      entries_.push_back({space, path, sequence.table()[begin / kPageTokens], now_});
    }
  }

  // `held` tells whether a live sequence holds a page.
  template <class Held>
  std::size_t Evict(std::size_t pages, const Held& held) {
    std::size_t freed = 0;
    for (; freed < pages; ++freed) {
      const auto oldest = Oldest([&](const Entry& entry) {
        return !held(entry.page) &&
               std::none_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
                 return entry.Precedes(other);
               });
      });
      if (oldest == entries_.end()) {
        break;
      }
      entries_.erase(oldest);
    }
    return freed;
  }

  void Clear() { entries_.clear(); }

 private:
  template <class Wanted>
  std::vector<Entry>::iterator Oldest(const Wanted& wanted) {
    auto oldest = entries_.end();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      const auto older = [](const Entry& a, const Entry& b) {
        return a.used != b.used ? a.used < b.used : a.tokens.size() > b.tokens.size();
      };
      if (wanted(*entry) && (oldest == entries_.end() || older(*entry, *oldest))) {
        oldest = entry;
      }
    }
    return oldest;
  }

  std::size_t most_;
  std::uint64_t now_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace hearth::prefix_tree_test
