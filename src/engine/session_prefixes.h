// What each conversation left in the prompt cache last: a memory of bounded size, by session id. A hint and nothing else:
// whatever it says or has forgotten, answers stay the same.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/token.h"

namespace hearth {

// Forgets the sessions that were used least recently when it would hold more than its bytes.
// Threads: the engine loop only.
class SessionPrefixes {
 public:
  struct Prefix {
    std::string session_id;
    std::string space;
    std::vector<TokenId> tokens;
  };

  // What an entry is counted for beside its tokens and names: the nodes that hold it, rounded up.
  static constexpr std::size_t kEntryBytes = 256;

  explicit SessionPrefixes(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Replaces what was known of the session. One prefix that is larger than all the memory is not kept.
  void Remember(
      std::string_view session_id, std::string_view space, std::span<const TokenId> tokens
  );

  // What is known of the session, which becomes the most recently used; null for nothing. Valid until the next call.
  const Prefix* Recall(std::string_view session_id);

  void Clear();

  std::size_t bytes() const { return bytes_; }

  std::size_t sessions() const { return order_.size(); }

 private:
  using Order = std::list<Prefix>;

  void Forget(Order::iterator prefix);

  std::size_t most_bytes_;
  std::size_t bytes_ = 0;
  Order order_;                                           // least recently used first
  std::map<std::string_view, Order::iterator> sessions_;  // keys lie in order_
};

}  // namespace hearth
