#include "kv/sequence.h"

#include <gtest/gtest.h>

#include <cstring>

#include "hearth/error.h"

namespace hearth {
namespace {

constexpr KvLayout kLayout{2, 1, 32, KvStorage::kBF16};

std::byte* LastPage(const KvSequence& sequence) {
  std::vector<std::byte*> pages(sequence.pages());
  sequence.LayerPages(0, pages);
  return pages.back();
}

TEST(KvSequence, TakesPagesAsItGrowsAndGivesThemBack) {
  PagePool pool(kLayout, 3);
  {
    KvSequence sequence(pool);
    sequence.Reserve(kPageTokens);
    EXPECT_EQ(pool.used(), 1u);
    sequence.Advance(kPageTokens);
    sequence.Reserve(1);
    sequence.Advance(1);
    EXPECT_EQ(pool.used(), 2u);
    sequence.Truncate(kPageTokens);
    EXPECT_EQ(pool.used(), 1u);
  }
  EXPECT_EQ(pool.used(), 0u);
}

TEST(KvSequence, AFullPoolRefusesAndChangesNothing) {
  PagePool pool(kLayout, 2);
  KvSequence first(pool);
  first.Reserve(kPageTokens);
  first.Advance(kPageTokens);
  KvSequence second(pool);
  try {
    second.Reserve(2 * kPageTokens);
    FAIL() << "took more than there is";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kResourceExhausted);
  }
  EXPECT_EQ(pool.used(), 1u);
  EXPECT_EQ(second.pages(), 0u);
  second.Reserve(kPageTokens);
  EXPECT_EQ(pool.used(), 2u);
}

TEST(KvSequence, AForkSharesPagesUntilOneSideWrites) {
  PagePool pool(kLayout, 4);
  KvSequence original(pool);
  original.Reserve(kPageTokens + 5);
  original.Advance(kPageTokens + 5);
  std::memset(LastPage(original), 0x11, 8);
  KvSequence fork = original.Fork(kPageTokens + 3);
  EXPECT_EQ(pool.used(), 2u);
  EXPECT_EQ(LastPage(fork), LastPage(original));

  fork.Reserve(1);
  EXPECT_EQ(pool.used(), 3u);
  ASSERT_NE(LastPage(fork), LastPage(original));
  EXPECT_EQ(std::memcmp(LastPage(fork), LastPage(original), 8), 0) << "the copy lost contents";
  std::memset(LastPage(fork), 0x22, 8);
  EXPECT_EQ(*LastPage(original), std::byte{0x11});

  const std::byte* before = LastPage(original);
  original.Reserve(1);
  EXPECT_EQ(LastPage(original), before) << "the last holder writes in place";
}

TEST(KvSequence, AWholeSharedPageIsNotCopied) {
  PagePool pool(kLayout, 4);
  KvSequence original(pool);
  original.Reserve(kPageTokens);
  original.Advance(kPageTokens);
  KvSequence fork = original.Fork(kPageTokens);
  fork.Reserve(1);
  EXPECT_EQ(pool.used(), 2u);
}

TEST(KvSequence, ACopyThatFindsNoPageChangesNothing) {
  PagePool pool(kLayout, 3);
  KvSequence original(pool);
  original.Reserve(kPageTokens + 5);
  original.Advance(kPageTokens + 5);
  KvSequence fork = original.Fork(kPageTokens + 3);
  const std::vector<PageId> before(fork.table().begin(), fork.table().end());
  EXPECT_THROW(fork.Reserve(kPageTokens), Error) << "the copy and a fresh page, with one page left";
  EXPECT_EQ(std::vector<PageId>(fork.table().begin(), fork.table().end()), before);
  EXPECT_EQ(pool.used(), 2u);
  EXPECT_EQ(pool.holders(before[1]), 2u);
}

TEST(KvSequence, OnGivenPagesItIsOneHolderMore) {
  PagePool pool(kLayout, 3);
  const PageId page = pool.Acquire();
  {
    const KvSequence sequence(pool, std::span(&page, 1), 7);
    EXPECT_EQ(sequence.length(), 7u);
    EXPECT_EQ(pool.holders(page), 2u);
    EXPECT_THROW(KvSequence(pool, std::span(&page, 1), kPageTokens + 1), Error);
    EXPECT_THROW(KvSequence(pool, std::span(&page, 1), 0), Error);
  }
  EXPECT_EQ(pool.holders(page), 1u);
}

TEST(KvSequence, ForkOfMoreThanThereIsFails) {
  PagePool pool(kLayout, 1);
  const KvSequence sequence(pool);
  EXPECT_THROW(static_cast<void>(sequence.Fork(1)), Error);
}

}  // namespace
}  // namespace hearth
