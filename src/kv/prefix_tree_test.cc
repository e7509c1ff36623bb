#include "kv/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "hearth/error.h"

namespace hearth {
namespace {

constexpr KvLayout kLayout{1, 1, 32, KvStorage::kBF16};

using Tokens = std::vector<TokenId>;

Tokens Range(std::size_t count, TokenId first = 0) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

Tokens Joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

KvSequence Computed(PagePool& pool, std::size_t tokens) {
  KvSequence sequence(pool);
  sequence.Reserve(tokens);
  sequence.Advance(tokens);
  return sequence;
}

void PutComputed(
    PrefixTree& tree, PagePool& pool, const Tokens& tokens, std::string_view space = ""
) {
  tree.Put(space, tokens, Computed(pool, tokens.size()));
}

TEST(PrefixTree, FindsThePrefixThatIsSharedAtAnyToken) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  const Tokens tokens = Range(2 * kPageTokens + 10);
  PutComputed(tree, pool, tokens);
  EXPECT_EQ(tree.pages(), 3u);
  EXPECT_EQ(pool.used(), 3u) << "the sequence is gone, its pages stay";
  for (const std::size_t shared : {0ul, 1ul, 63ul, 64ul, 65ul, 127ul, 128ul, 137ul, 138ul}) {
    const Tokens query = Joined(Range(shared), Range(200, 1000));
    EXPECT_EQ(tree.Match("", query, query.size()), shared);
    EXPECT_EQ(tree.Match("", query, 100), std::min<std::size_t>(shared, 100));
    EXPECT_EQ(tree.Match("", Range(shared), 1000), shared);
  }
  EXPECT_EQ(tree.Match("", {}, 10), 0u);
}

TEST(PrefixTree, SpacesShareNothing) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  PutComputed(tree, pool, Range(10), "adapter");
  EXPECT_EQ(tree.Match("adapter", Range(10), 10), 10u);
  EXPECT_EQ(tree.Match("", Range(10), 10), 0u);
  EXPECT_EQ(tree.Match("adapter2", Range(10), 10), 0u);
  EXPECT_EQ(tree.Take("other", Range(10), 10).length(), 0u);
}

TEST(PrefixTree, ATakenSequenceWritesOnlyItsCopyOfAPageThatIsSharedInPart) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  PutComputed(tree, pool, Range(kPageTokens + 10));
  KvSequence row = tree.Take("", Range(kPageTokens + 10), kPageTokens + 9);
  EXPECT_EQ(row.length(), kPageTokens + 9);
  EXPECT_EQ(pool.used(), 2u);
  const PageId first = row.table()[0];
  const PageId cached = row.table()[1];
  row.Reserve(1);
  EXPECT_EQ(row.table()[0], first);
  EXPECT_NE(row.table()[1], cached);
  EXPECT_EQ(pool.holders(cached), 1u);
  EXPECT_EQ(pool.holders(first), 2u);
}

TEST(PrefixTree, BlocksThatAreThereStayOnTheirPages) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  const KvSequence first = Computed(pool, 2 * kPageTokens);
  tree.Put("", Range(2 * kPageTokens), first);
  const KvSequence second = Computed(pool, 3 * kPageTokens);
  tree.Put("", Range(3 * kPageTokens), second);
  const KvSequence taken = tree.Take("", Range(3 * kPageTokens), 3 * kPageTokens);
  ASSERT_EQ(taken.pages(), 3u);
  EXPECT_EQ(taken.table()[0], first.table()[0]);
  EXPECT_EQ(taken.table()[1], first.table()[1]);
  EXPECT_EQ(taken.table()[2], second.table()[2]);
}

TEST(PrefixTree, ALongerBlockTakesThePlaceOfItsPrefix) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  PutComputed(tree, pool, Range(10));
  PutComputed(tree, pool, Range(20));
  EXPECT_EQ(tree.pages(), 1u);
  EXPECT_EQ(pool.used(), 1u);
  EXPECT_EQ(tree.Match("", Range(30), 30), 20u);
  PutComputed(tree, pool, Range(5));  // held by the longer one
  EXPECT_EQ(tree.pages(), 1u);
  EXPECT_EQ(tree.Match("", Range(30), 30), 20u);
  PutComputed(
      tree, pool, Joined(Range(15), Range(5, 100))
  );  // a sibling that leaves it inside the page
  EXPECT_EQ(tree.pages(), 2u);
  PutComputed(tree, pool, Range(kPageTokens + 1));
  EXPECT_EQ(tree.pages(), 3u);
  EXPECT_EQ(tree.Match("", Range(kPageTokens + 5), 100), kPageTokens + 1);
}

TEST(PrefixTree, EvictsLeavesLeastRecentlyUsedFirst) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  const Tokens stem = Range(kPageTokens);
  const Tokens a = Joined(stem, Range(10, 1000));
  const Tokens b = Joined(stem, Range(10, 2000));
  PutComputed(tree, pool, a);
  PutComputed(tree, pool, b);
  tree.Touch("", a);
  EXPECT_EQ(tree.evictable(), 3u);
  EXPECT_EQ(tree.Evict(1), 1u);
  EXPECT_EQ(tree.Match("", b, 100), kPageTokens);
  EXPECT_EQ(tree.Match("", a, 100), a.size());
  EXPECT_EQ(tree.Evict(1), 1u);
  EXPECT_EQ(tree.Match("", a, 100), kPageTokens) << "a leaf goes before its parent";
  EXPECT_EQ(tree.Evict(100), 1u);
  EXPECT_EQ(tree.pages(), 0u);
  EXPECT_EQ(pool.used(), 0u);
}

TEST(PrefixTree, APageThatALiveSequenceHoldsIsNotEvicted) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  // The tree's second block comes from a sequence that has a first page of its own.
  PutComputed(tree, pool, Range(kPageTokens));
  {
    const KvSequence live = Computed(pool, 2 * kPageTokens);
    tree.Put("", Range(2 * kPageTokens), live);
    EXPECT_EQ(tree.evictable(), 0u)
        << "the first block is the tree's alone, but has a child that stays";
    EXPECT_EQ(tree.Evict(5), 0u);
    EXPECT_EQ(tree.pages(), 2u);
  }
  EXPECT_EQ(tree.evictable(), 2u);
  EXPECT_EQ(tree.Evict(5), 2u);
}

TEST(PrefixTree, TheCeilingHolds) {
  PagePool pool(kLayout, 16);
  PrefixTree tree(pool, 3);
  PutComputed(tree, pool, Range(2 * kPageTokens));
  PutComputed(tree, pool, Range(2 * kPageTokens, 1000));
  EXPECT_EQ(tree.pages(), 3u);
  EXPECT_EQ(tree.Match("", Range(200), 200), kPageTokens) << "the older leaf went";
  EXPECT_EQ(tree.Match("", Range(200, 1000), 200), 2 * kPageTokens);
  PutComputed(tree, pool, Range(5 * kPageTokens, 2000));
  EXPECT_EQ(tree.pages(), 3u);
  EXPECT_EQ(tree.Match("", Range(400, 2000), 400), 3 * kPageTokens)
      << "the beginning is what is kept";
  EXPECT_EQ(pool.used(), 3u);

  PrefixTree none(pool, 0);
  PutComputed(none, pool, Range(10));
  EXPECT_EQ(none.pages(), 0u);
  EXPECT_EQ(none.Match("", Range(10), 10), 0u);
}

TEST(PrefixTree, ClearLeavesSequencesTheirPages) {
  PagePool pool(kLayout, 8);
  PrefixTree tree(pool, 8);
  PutComputed(tree, pool, Range(kPageTokens + 5));
  KvSequence row = tree.Take("", Range(kPageTokens + 5), kPageTokens + 4);
  tree.Clear();
  EXPECT_EQ(tree.pages(), 0u);
  EXPECT_EQ(pool.used(), 2u);
  const PageId last = row.table()[1];
  row.Reserve(1);
  EXPECT_EQ(row.table()[1], last) << "nobody else holds it: no copy";
}

TEST(PrefixTree, AMillionTokensDeep) {
  constexpr std::size_t kPages = 16'384;
  constexpr KvLayout tiny{1, 1, 1, KvStorage::kBF16};
  PagePool pool(tiny, kPages);
  {
    PrefixTree tree(pool, kPages);
    PutComputed(tree, pool, Range(kPages * kPageTokens));
    EXPECT_EQ(tree.pages(), kPages);
    EXPECT_EQ(
        tree.Match("", Range(kPages * kPageTokens), kPages * kPageTokens), kPages * kPageTokens
    );
  }
  EXPECT_EQ(pool.used(), 0u);
}

TEST(PrefixTree, RefusesWhatTheSequenceDoesNotHold) {
  PagePool pool(kLayout, 8);
  PagePool other(kLayout, 8);
  PrefixTree tree(pool, 8);
  EXPECT_THROW(tree.Put("", Range(11), Computed(pool, 10)), Error);
  EXPECT_THROW(tree.Put("", Range(10), Computed(other, 10)), Error);
  EXPECT_EQ(tree.pages(), 0u);
}

}  // namespace
}  // namespace hearth
