#include "engine/session_prefixes.h"

#include <iterator>

namespace hearth {
namespace {

std::size_t BytesOf(
    std::string_view session_id, std::string_view space, std::span<const TokenId> tokens
) {
  return SessionPrefixes::kEntryBytes + session_id.size() + space.size() +
         tokens.size() * sizeof(TokenId);
}

}  // namespace

void SessionPrefixes::Remember(
    std::string_view session_id, std::string_view space, std::span<const TokenId> tokens
) {
  if (const auto known = sessions_.find(session_id); known != sessions_.end()) {
    Forget(known->second);
  }
  const std::size_t bytes = BytesOf(session_id, space, tokens);
  if (bytes > most_bytes_) {
    return;
  }
  while (bytes_ + bytes > most_bytes_) {
    Forget(order_.begin());
  }
  order_.push_back(
      {std::string(session_id),
       std::string(space),
       std::vector<TokenId>(tokens.begin(), tokens.end())}
  );
  sessions_.emplace(order_.back().session_id, std::prev(order_.end()));
  bytes_ += bytes;
}

const SessionPrefixes::Prefix* SessionPrefixes::Recall(std::string_view session_id) {
  const auto known = sessions_.find(session_id);
  if (known == sessions_.end()) {
    return nullptr;
  }
  order_.splice(order_.end(), order_, known->second);
  return &*known->second;
}

void SessionPrefixes::Clear() {
  sessions_.clear();
  order_.clear();
  bytes_ = 0;
}

void SessionPrefixes::Forget(Order::iterator prefix) {
  bytes_ -= BytesOf(prefix->session_id, prefix->space, prefix->tokens);
  sessions_.erase(prefix->session_id);
  order_.erase(prefix);
}

}  // namespace hearth
