#include "engine/prompt_cache.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "platform/log.h"

namespace hearth {
namespace {

using Tokens = std::vector<TokenId>;

constexpr KvLayout kLayout{1, 1, 1, KvStorage::kBF16};
constexpr std::size_t kPages = 8;

Tokens Range(std::size_t count, TokenId first = 0) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

GenerationRequest Ask(Tokens prompt, std::string session = "") {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.session_id = std::move(session);
  return request;
}

class PromptCacheTest : public testing::Test {
 protected:
  PromptCacheTest() : pool_(kLayout, 32), cache_(pool_, {.pages = kPages}, gauges_) {}

  ~PromptCacheTest() override { SetLogSink({}, LogLevel::kError); }

  KvSequence Computed(std::size_t tokens) {
    KvSequence sequence(pool_);
    sequence.Reserve(tokens);
    sequence.Advance(tokens);
    return sequence;
  }

  void Put(const GenerationRequest& request) { PutTokens(request, request.prompt); }

  void PutTokens(const GenerationRequest& request, const Tokens& tokens) {
    cache_.Put(request, tokens, Computed(tokens.size()));
  }

  std::size_t Match(const GenerationRequest& request) {
    return cache_.Match(request, request.prompt);
  }

  std::size_t Take(const GenerationRequest& request) {
    return cache_.Take(request, request.prompt).length();
  }

  void Listen(LogLevel most) {
    SetLogSink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); }, most);
  }

  PagePool pool_;
  EngineGauges gauges_;
  PromptCache cache_;
  std::vector<std::string> lines_;
};

TEST_F(PromptCacheTest, CountsWhatIsTaken) {
  Put(Ask(Range(100)));
  EXPECT_EQ(gauges_.pages_cached, 2u);
  EXPECT_EQ(Match(Ask(Range(150))), 100u);
  EXPECT_EQ(gauges_.cache_hits + gauges_.cache_misses, 0u) << "a look counts nothing";
  EXPECT_EQ(Take(Ask(Range(150))), 100u);
  EXPECT_EQ(Take(Ask(Range(50))), 49u) << "at least one token is computed";
  EXPECT_EQ(Take(Ask(Range(50, 500))), 0u);
  EXPECT_EQ(Take(Ask({0})), 0u);
  EXPECT_EQ(gauges_.cache_hits, 2u);
  EXPECT_EQ(gauges_.cache_misses, 2u);
  EXPECT_EQ(gauges_.cached_tokens, 149u);
}

TEST_F(PromptCacheTest, ARowThatComesBackIsNotCountedAgain) {
  const GenerationRequest request = Ask(Range(70));
  PutTokens(request, Range(80));
  EXPECT_EQ(cache_.Match(request, Range(80)), 79u);
  EXPECT_EQ(cache_.Take(request, Range(80)).length(), 79u);
  EXPECT_EQ(gauges_.cache_hits, 0u);
  EXPECT_EQ(gauges_.cached_tokens, 0u);
}

TEST_F(PromptCacheTest, SpacesShareNothing) {
  GenerationRequest adapted = Ask(Range(70));
  adapted.cache_space = "adapter";
  Put(adapted);
  EXPECT_EQ(Match(Ask(Range(70))), 0u);
  EXPECT_EQ(Match(adapted), 69u);
}

TEST_F(PromptCacheTest, ARequestMayStayOut) {
  Put(Ask(Range(70)));
  GenerationRequest outside = Ask(Range(70));
  outside.use_cache = false;
  EXPECT_EQ(Match(outside), 0u);
  EXPECT_EQ(Take(outside), 0u);
  outside.prompt = Range(70, 1000);
  Put(outside);
  EXPECT_EQ(Match(Ask(Range(71, 1000))), 0u);

  GenerationRequest scored = Ask(Range(70));
  scored.prompt_logits = [](std::size_t, std::span<const float>) {};
  EXPECT_EQ(Match(scored), 0u) << "it wants the logits of each of its tokens";
  EXPECT_EQ(Take(scored), 0u);
  scored.prompt = Range(70, 2000);
  Put(scored);
  EXPECT_EQ(Match(Ask(Range(71, 2000))), 70u);
  EXPECT_EQ(gauges_.cache_hits + gauges_.cache_misses, 0u) << "who does not ask does not miss";
}

TEST_F(PromptCacheTest, MakesRoom) {
  Put(Ask(Range(3 * kPageTokens)));
  const KvSequence row = cache_.Take(Ask(Range(kPageTokens + 1)), Range(kPageTokens + 1));
  EXPECT_EQ(cache_.evictable(), 2u);
  EXPECT_EQ(cache_.MakeRoom(1), 1u);
  EXPECT_EQ(gauges_.pages_cached, 2u);
  EXPECT_EQ(cache_.MakeRoom(5), 1u);
  EXPECT_EQ(cache_.pages(), 1u) << "the row holds the first page";
  cache_.Clear();
  EXPECT_EQ(gauges_.pages_cached, 0u);
  EXPECT_EQ(pool_.used(), 1u);
}

// Rows with one long beginning share it: the next one needs room for its own end only.
TEST_F(PromptCacheTest, PagesThatRowsHoldAlreadyCostTheNextRowNothing) {
  Put(Ask(Range(3 * kPageTokens)));
  Put(Ask(Range(2 * kPageTokens, 1000)));
  const Tokens prompt = Range(3 * kPageTokens + 5);
  EXPECT_EQ(cache_.evictable(), 5u);
  EXPECT_EQ(cache_.EvictableBeside(Ask(prompt), prompt, 3 * kPageTokens), 2u);
  const KvSequence first = cache_.Take(Ask(prompt), prompt);
  EXPECT_EQ(cache_.evictable(), 2u);
  EXPECT_EQ(cache_.EvictableBeside(Ask(prompt), prompt, 3 * kPageTokens), 2u);
  const Tokens other = Range(2 * kPageTokens + 5, 1000);
  EXPECT_EQ(cache_.EvictableBeside(Ask(other), other, other.size()), 0u);
  GenerationRequest outside = Ask(other);
  outside.use_cache = false;
  EXPECT_EQ(cache_.EvictableBeside(outside, other, other.size()), 2u);
}

TEST_F(PromptCacheTest, WhatARowMayNotTakeIsNotCounted) {
  Put(Ask(Range(100)));
  EXPECT_EQ(cache_.Take(Ask(Range(110)), Range(110), kPageTokens).length(), kPageTokens);
  EXPECT_EQ(gauges_.cached_tokens, kPageTokens);
  EXPECT_EQ(cache_.Take(Ask(Range(110)), Range(110), 0).length(), 0u);
  EXPECT_EQ(gauges_.cache_hits, 1u);
  EXPECT_EQ(gauges_.cache_misses, 1u);
}

// The copy of a page that is shared in part may be the one page too many in a full pool.
TEST(PromptCache, WhatFitsColdFitsWarm) {
  PagePool pool(kLayout, 2);
  EngineGauges gauges;
  PromptCache cache(pool, {.pages = 2}, gauges);
  {
    KvSequence sequence(pool);
    sequence.Reserve(100);
    sequence.Advance(100);
    cache.Put(Ask(Range(100)), Range(100), sequence);
  }
  const Tokens prompt = Range(120);
  EXPECT_EQ(cache.EvictableBeside(Ask(prompt), prompt, 100), 0u) << "no room for the copy";
  EXPECT_EQ(cache.EvictableBeside(Ask(prompt), prompt, kPageTokens), 1u);
  {
    KvSequence row = cache.Take(Ask(prompt), prompt);
    EXPECT_EQ(row.length(), 100u);
    EXPECT_EQ(cache.evictable(), 0u);
    EXPECT_THROW(row.Reserve(20), Error);
  }
  {
    KvSequence row = cache.Take(Ask(prompt), prompt, kPageTokens);
    EXPECT_EQ(row.length(), kPageTokens);
    EXPECT_EQ(cache.MakeRoom(1), 1u);
    row.Reserve(prompt.size() - kPageTokens);
    row.Advance(prompt.size() - kPageTokens);
    cache.Put(Ask(prompt), prompt, row);
  }
  KvSequence row = cache.Take(Ask(Range(128)), Range(128));
  EXPECT_EQ(row.length(), 120u);
  cache.Clear();
  row.Reserve(8);
  EXPECT_EQ(pool.used(), 2u) << "nobody shares the page any more, so it is written in place";
}

TEST_F(PromptCacheTest, DisabledItKeepsNothing) {
  for (const PromptCacheLimits limits :
       {PromptCacheLimits{.enabled = false, .pages = kPages}, PromptCacheLimits{.pages = 0}}) {
    PromptCache off(pool_, limits, gauges_);
    off.Put(Ask(Range(70), "s"), Range(70), Computed(70));
    EXPECT_EQ(pool_.used(), 0u);
    EXPECT_EQ(off.Match(Ask(Range(70)), Range(70)), 0u);
    EXPECT_EQ(off.Take(Ask(Range(70), "s"), Range(70)).length(), 0u);
  }
  EXPECT_EQ(gauges_.cache_hits + gauges_.cache_misses, 0u);
}

TEST_F(PromptCacheTest, ASessionThatGoesOnKeepsAllThatItLeft) {
  const Tokens left = Range(4 * kPageTokens);
  PutTokens(Ask(Range(10), "talk"), left);
  PutTokens(Ask(Range(10)), Range(4 * kPageTokens, 1000));
  EXPECT_EQ(cache_.pages(), kPages);
  // An answer that is asked for again: the prompt alone touches one page of the four.
  EXPECT_EQ(Take(Ask(Range(10), "talk")), 9u);
  cache_.MakeRoom(4);
  EXPECT_EQ(Match(Ask(left)), left.size() - 1);
  EXPECT_EQ(Match(Ask(Range(100, 1000))), 0u);
}

TEST_F(PromptCacheTest, SaysWhereASessionLeftItsPrefix) {
  Listen(LogLevel::kDebug);
  PutTokens(Ask(Range(60), "talk"), Range(100));
  Tokens next = Range(120);
  Take(Ask(next, "talk"));
  Take(Ask(Range(50), "talk"));
  EXPECT_EQ(lines_, std::vector<std::string>{}) << "longer or shorter is not elsewhere";
  next[70] = 4321;
  Take(Ask(next, "other"));
  Take(Ask(next));
  EXPECT_EQ(lines_, std::vector<std::string>{});
  EXPECT_EQ(Take(Ask(next, "talk")), 70u);
  EXPECT_EQ(
      lines_,
      (std::vector<std::string>{
          "prompt cache: session talk left its prefix of 100 tokens at token 70 of 120: "
          "got 4321, wanted 70"
      })
  );
  GenerationRequest adapted = Ask(next, "talk");
  adapted.cache_space = "adapter";
  Take(adapted);
  EXPECT_EQ(lines_.size(), 1u) << "in another space there is nothing to leave";
  cache_.Clear();
  Take(Ask(next, "talk"));
  EXPECT_EQ(lines_.size(), 1u) << "sessions are forgotten with the rest";
}

TEST_F(PromptCacheTest, LongNamesOfSessionsAreCutBetweenCharacters) {
  Listen(LogLevel::kDebug);
  const std::string id = std::string(63, 'x') + "\u00e4" + std::string(1000, 'y');
  Put(Ask(Range(10), id));
  Take(Ask(Range(10, 5), id));
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("session " + std::string(63, 'x') + " left"), std::string::npos);
}

TEST_F(PromptCacheTest, SaysNothingBelowDebug) {
  Listen(LogLevel::kInfo);
  Put(Ask(Range(10), "talk"));
  Take(Ask(Range(10, 5), "talk"));
  EXPECT_TRUE(lines_.empty());
}

TEST_F(PromptCacheTest, RefusesTokensThatTheSequenceDoesNotHold) {
  EXPECT_THROW(cache_.Put(Ask(Range(10)), Range(10), Computed(9)), Error);
  EXPECT_EQ(pool_.used(), 0u);
}

}  // namespace
}  // namespace hearth
