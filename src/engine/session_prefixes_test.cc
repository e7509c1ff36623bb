#include "engine/session_prefixes.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

using Tokens = std::vector<TokenId>;

constexpr std::size_t kEntry = SessionPrefixes::kEntryBytes;

TEST(SessionPrefixes, RecallsWhatWasLeftLast) {
  SessionPrefixes sessions(10 * kEntry);
  EXPECT_EQ(sessions.Recall("a"), nullptr);
  sessions.Remember("a", "", Tokens{1, 2, 3});
  sessions.Remember("a", "adapter", Tokens{4, 5});
  const SessionPrefixes::Prefix* prefix = sessions.Recall("a");
  ASSERT_NE(prefix, nullptr);
  EXPECT_EQ(prefix->session_id, "a");
  EXPECT_EQ(prefix->space, "adapter");
  EXPECT_EQ(prefix->tokens, (Tokens{4, 5}));
  EXPECT_EQ(sessions.sessions(), 1u);
  EXPECT_EQ(sessions.bytes(), kEntry + 1 + 7 + 2 * sizeof(TokenId));
}

TEST(SessionPrefixes, ForgetsTheLeastRecentlyUsedAtItsBound) {
  constexpr std::size_t each = kEntry + 1 + 10 * sizeof(TokenId);
  SessionPrefixes sessions(3 * each);
  const Tokens tokens(10);
  sessions.Remember("a", "", tokens);
  sessions.Remember("b", "", tokens);
  sessions.Remember("c", "", tokens);
  EXPECT_EQ(sessions.bytes(), 3 * each);
  EXPECT_NE(sessions.Recall("a"), nullptr);
  sessions.Remember("d", "", tokens);
  EXPECT_EQ(sessions.Recall("b"), nullptr);
  EXPECT_NE(sessions.Recall("a"), nullptr);
  EXPECT_NE(sessions.Recall("c"), nullptr);
  EXPECT_NE(sessions.Recall("d"), nullptr);
  EXPECT_EQ(sessions.bytes(), 3 * each);
}

TEST(SessionPrefixes, LongNamesCountToo) {
  SessionPrefixes sessions(4 * kEntry);
  sessions.Remember("a", "", Tokens{1});
  sessions.Remember(std::string(3 * kEntry, 'x'), "", Tokens{1});
  EXPECT_EQ(sessions.sessions(), 1u);
  EXPECT_LE(sessions.bytes(), 4 * kEntry);
}

TEST(SessionPrefixes, WhatIsLargerThanAllTheMemoryIsNotKept) {
  SessionPrefixes sessions(2 * kEntry);
  sessions.Remember("a", "", Tokens{1});
  sessions.Remember("b", "", Tokens{1});
  sessions.Remember("b", "", Tokens(kEntry));
  EXPECT_EQ(sessions.Recall("b"), nullptr) << "what it left before is not the last any more";
  sessions.Remember("a", "", Tokens{1});
  sessions.Remember("b", "", Tokens(kEntry));
  EXPECT_NE(sessions.Recall("a"), nullptr) << "nobody goes for what is not kept";
  sessions.Clear();
  EXPECT_EQ(sessions.Recall("a"), nullptr);
  EXPECT_EQ(sessions.bytes(), 0u);
}

}  // namespace
}  // namespace hearth
