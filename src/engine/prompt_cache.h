// The prompt cache of the continuous batch: who may read and write it, what is counted, and what a session's hint does. The
// prefixes themselves are kv/prefix_tree.h's.
//
// A hit changes the time of an answer and nothing else (the first law), so any prefix of any request may be reused at any
// token; at least the last one is always computed. A row that ended early has left what it had computed, no more: its
// tokens and its sequence are cached together, so they cannot get out of step.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "engine/engine_gauges.h"
#include "engine/session_prefixes.h"
#include "hearth/generation_request.h"
#include "kv/page_pool.h"
#include "kv/prefix_tree.h"
#include "kv/sequence.h"

namespace hearth {

struct PromptCacheLimits {
  bool enabled = true;                           // false keeps nothing and counts nothing
  std::size_t pages = 0;                         // that it may hold of the pool; 0 keeps nothing
  std::size_t session_bytes = 8u * 1024 * 1024;  // for what sessions left last (SessionPrefixes)
};

// `tokens` are always all that a row has to have in its sequence before it can sample: the request's prompt, and after a
// preemption the answer so far too. A request with use_cache off neither reads nor writes; one with a prompt_logits sink
// computes its whole prompt, so it does not read, but leaves it for others.
//
// Ownership: borrows the pool and the gauges, which outlive it.
// Threads:   the engine loop only, and between steps.
// Cost:      that of PrefixTree, and for a request with a session O(tokens) more.
class PromptCache {
 public:
  PromptCache(PagePool& pool, const PromptCacheLimits& limits, EngineGauges& gauges);

  // How many tokens Take would find. Changes and counts nothing.
  std::size_t Match(const GenerationRequest& request, std::span<const TokenId> tokens) const;

  // A sequence that begins with what is cached of the tokens, at most `most` of them: perhaps nothing, never all. Keeps
  // what the request's session left last from being the next to be evicted; if the prompt has left it, a debug line says
  // where.
  // Counts a hit or a miss, unless the row comes back with an answer begun: call it when the row starts, and Match before.
  // A last page that is shared in part is copied by the next Reserve: without a page for that, take whole pages.
  KvSequence Take(
      const GenerationRequest& request,
      std::span<const TokenId> tokens,
      std::size_t most = std::numeric_limits<std::size_t>::max()
  );

  // Keeps `tokens`, the first ones of `sequence`. For a row that goes on, whole pages only: a part would be copied when it
  // goes on.
  // Errors: kInvalidArgument when the sequence holds fewer.
  void Put(
      const GenerationRequest& request, std::span<const TokenId> tokens, const KvSequence& sequence
  );

  // Gives up to `pages` pages back to the pool; returns how many. What is left then is held by rows too.
  std::size_t MakeRoom(std::size_t pages);

  // How many pages MakeRoom could give back now. Cost: O(pages()).
  std::size_t evictable() const { return tree_.evictable(); }

  // How many it could give back after Take(request, tokens, most), whose pages may be those of other rows already. For a
  // row that has to grow to n pages, Take will do when n - most / kPageTokens pages are free or in this number.
  std::size_t EvictableBeside(
      const GenerationRequest& request, std::span<const TokenId> tokens, std::size_t most
  ) const;

  std::size_t pages() const { return tree_.pages(); }

  // Forgets everything, sessions included. Frees no page that rows hold, but they need no copies for the cache's sake
  // any more.
  void Clear();

 private:
  void FollowSession(const GenerationRequest& request, std::span<const TokenId> tokens);
  void ShowPages();

  bool enabled_;
  PagePool* pool_;
  PrefixTree tree_;
  SessionPrefixes sessions_;
  EngineGauges* gauges_;
};

}  // namespace hearth
