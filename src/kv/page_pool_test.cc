#include "kv/page_pool.h"

#include <gtest/gtest.h>

#include <new>

namespace hearth {
namespace {

TEST(PagePool, APageForWhichThereIsNoMemoryStaysToBeHad) {
#ifdef HEARTH_SANITIZED
  GTEST_SKIP() << "a sanitizer ends the program instead of refusing such an allocation";
#endif
  // A page of some exabytes.
  PagePool pool({std::size_t{1} << 45, 8, 128, KvStorage::kBF16}, 2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(pool.Acquire(), std::bad_alloc);
    EXPECT_EQ(pool.available(), 2u);
    EXPECT_EQ(pool.used(), 0u);
  }
}

}  // namespace
}  // namespace hearth
