#include "engine/prompt_cache.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "platform/log.h"

namespace hearth {
namespace {

constexpr std::size_t kShownIdBytes = 64;

bool Reads(const GenerationRequest& request) {
  return request.use_cache && !request.ComputesWholePrompt();
}

std::size_t MostReused(std::span<const TokenId> tokens) {
  return tokens.empty() ? 0 : tokens.size() - 1;
}

// The beginning of a name from outside, cut between UTF-8 characters.
std::string_view Shown(std::string_view id) {
  if (id.size() <= kShownIdBytes) {
    return id;
  }
  std::size_t cut = kShownIdBytes;
  while (cut > 0 && (static_cast<unsigned char>(id[cut]) & 0xc0u) == 0x80u) {
    --cut;
  }
  return id.substr(0, cut);
}

// Says at which token the prompt left what its session has cached, if it did. Token ids only, and only two of them.
void LogDeparture(const SessionPrefixes::Prefix& left, std::span<const TokenId> tokens) {
  const std::size_t both = std::min(left.tokens.size(), tokens.size());
  std::size_t same = 0;
  while (same < both && left.tokens[same] == tokens[same]) {
    ++same;
  }
  if (same == both) {
    return;
  }
  std::string line = "prompt cache: session ";
  line.append(Shown(left.session_id))
      .append(" left its prefix of ")
      .append(std::to_string(left.tokens.size()))
      .append(" tokens at token ")
      .append(std::to_string(same))
      .append(" of ")
      .append(std::to_string(tokens.size()))
      .append(": got ")
      .append(std::to_string(tokens[same]))
      .append(", wanted ")
      .append(std::to_string(left.tokens[same]));
  Log(LogLevel::kDebug, line);
}

}  // namespace

PromptCache::PromptCache(PagePool& pool, const PromptCacheLimits& limits, EngineGauges& gauges)
    : enabled_(limits.enabled && limits.pages > 0),
      pool_(&pool),
      tree_(pool, enabled_ ? limits.pages : 0),
      sessions_(limits.session_bytes),
      gauges_(&gauges) {
}

std::size_t PromptCache::Match(
    const GenerationRequest& request, std::span<const TokenId> tokens
) const {
  return Reads(request) ? tree_.Match(request.cache_space, tokens, MostReused(tokens)) : 0;
}

std::size_t PromptCache::EvictableBeside(
    const GenerationRequest& request, std::span<const TokenId> tokens, std::size_t most
) const {
  return Reads(request) ? tree_.EvictableBeside(
                              request.cache_space, tokens, std::min(most, MostReused(tokens))
                          )
                        : tree_.evictable();
}

KvSequence PromptCache::Take(
    const GenerationRequest& request, std::span<const TokenId> tokens, std::size_t most
) {
  if (!enabled_ || !Reads(request)) {
    return KvSequence(*pool_);
  }
  FollowSession(request, tokens);
  KvSequence sequence = tree_.Take(request.cache_space, tokens, std::min(most, MostReused(tokens)));
  if (tokens.size() == request.prompt.size()) {
    ++(sequence.length() > 0 ? gauges_->cache_hits : gauges_->cache_misses);
    gauges_->cached_tokens += sequence.length();
  }
  return sequence;
}

void PromptCache::Put(
    const GenerationRequest& request, std::span<const TokenId> tokens, const KvSequence& sequence
) {
  if (!enabled_ || !request.use_cache) {
    return;
  }
  tree_.Put(request.cache_space, tokens, sequence);
  if (!request.session_id.empty()) {
    sessions_.Remember(request.session_id, request.cache_space, tokens);
  }
  ShowPages();
}

std::size_t PromptCache::MakeRoom(std::size_t pages) {
  const std::size_t freed = tree_.Evict(pages);
  ShowPages();
  return freed;
}

void PromptCache::Clear() {
  tree_.Clear();
  sessions_.Clear();
  ShowPages();
}

void PromptCache::FollowSession(const GenerationRequest& request, std::span<const TokenId> tokens) {
  if (request.session_id.empty()) {
    return;
  }
  const SessionPrefixes::Prefix* left = sessions_.Recall(request.session_id);
  if (left == nullptr || left->space != request.cache_space) {
    return;
  }
  tree_.Touch(left->space, left->tokens);
  if (LogEnabled(LogLevel::kDebug)) {
    LogDeparture(*left, tokens);
  }
}

void PromptCache::ShowPages() {
  gauges_->pages_cached = tree_.pages();
}

}  // namespace hearth
