// Random operations on the prefix tree and on live sequences, each compared with a model that knows only lists of token
// vectors. Pages carry marks that depend on everything before a token, so a page that was written while it was shared, or
// handed to the wrong prefix, shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "kv/prefix_tree.h"
#include "kv/prefix_tree_test_model.h"

namespace hearth {
namespace {

using prefix_tree_test::Entry;
using prefix_tree_test::First;
using prefix_tree_test::Model;
using prefix_tree_test::Tokens;

constexpr KvLayout kLayout{1, 1, 1, KvStorage::kBF16};

std::uint64_t Mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

struct Random {
  std::uint64_t state;

  // 0 .. bound - 1.
  std::size_t Below(std::size_t bound) {
    return static_cast<std::size_t>(Mixed(state += 0x9e3779b97f4a7c15ull) % bound);
  }
};

struct Row {
  std::string space;
  Tokens tokens;  // of the sequence, [length()]
  KvSequence sequence;
};

class Trial {
 public:
  Trial(std::uint64_t seed, std::size_t pool_pages, std::size_t tree_pages)
      : random_{seed}, pool_(kLayout, pool_pages), tree_(pool_, tree_pages), model_(tree_pages) {}

  void Run(std::size_t operations) {
    for (std::size_t i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
      Step();
      if (i % 16 == 0) {
        Check();
      }
    }
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    rows_.clear();
    Check();
    tree_.Clear();
    EXPECT_EQ(pool_.used(), 0u);
    EXPECT_GT(hits_, operations / 20) << "the trial shares too little to say anything";
    EXPECT_GT(long_hits_, operations / 50);
    EXPECT_GT(evictions_, operations / 20);
  }

 private:
  void Step() {
    switch (random_.Below(10)) {
      case 0:
      case 1:
        return Start();
      case 2:
      case 3:
      case 4:
        return Grow();
      case 5:
      case 6:
        return Put();
      case 7:
        return Drop();
      case 8:
        return Evict(1 + random_.Below(3));
      default:
        return Rare();
    }
  }

  Row& AnyRow() { return *rows_[random_.Below(rows_.size())]; }

  std::string Space() { return random_.Below(4) == 0 ? "adapter" : ""; }

  // What was asked before up to some token, then something else of a small alphabet.
  Tokens Prompt() {
    Tokens tokens;
    if (!asked_.empty()) {
      const Tokens& before = asked_[random_.Below(asked_.size())];
      tokens =
          First(before, random_.Below(4) != 0 ? before.size() : random_.Below(before.size() + 1));
    }
    const std::size_t more = 1 + random_.Below(random_.Below(3) == 0 ? 3 * kPageTokens : 20);
    for (std::size_t i = 0; i < more; ++i) {
      tokens.push_back(static_cast<TokenId>(random_.Below(2)));
    }
    tokens.resize(std::min(tokens.size(), 6 * kPageTokens));
    if (asked_.size() < 24) {
      asked_.push_back(tokens);
    } else {
      asked_[random_.Below(asked_.size())] = tokens;
    }
    return tokens;
  }

  void Start() {
    if (rows_.size() == 5) {
      Drop();
    }
    const std::string space = Space();
    const Tokens prompt = Prompt();
    const std::size_t most = prompt.size() - 1;
    const std::size_t match = tree_.Match(space, prompt, most);
    ASSERT_EQ(match, model_.Match(space, prompt, most));
    const std::size_t beside = tree_.EvictableBeside(space, prompt, most);
    Row row{space, First(prompt, match), tree_.Take(space, prompt, most)};
    ASSERT_EQ(row.sequence.length(), match);
    ASSERT_EQ(tree_.evictable(), beside);
    if (match > 0) {
      ++hits_;
      long_hits_ += match > kPageTokens && match % kPageTokens != 0 ? 1u : 0u;
      model_.TouchTo(space, row.sequence.table().back());
    }
    CheckMarks(row);
    rows_.push_back(std::make_unique<Row>(std::move(row)));
    Write(*rows_.back(), Tokens(prompt.begin() + static_cast<std::ptrdiff_t>(match), prompt.end()));
  }

  void Grow() {
    if (rows_.empty()) {
      return;
    }
    Tokens more(1 + random_.Below(10));
    for (TokenId& token : more) {
      token = static_cast<TokenId>(random_.Below(2));
    }
    Write(AnyRow(), more);
  }

  void Write(Row& row, const Tokens& more) {
    const std::vector<PageId> before(row.sequence.table().begin(), row.sequence.table().end());
    try {
      row.sequence.Reserve(more.size());
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kResourceExhausted);
      ASSERT_TRUE(
          std::equal(
              before.begin(), before.end(), row.sequence.table().begin(), row.sequence.table().end()
          )
      ) << "a refused Reserve has changed the sequence";
      return Evict(2);
    }
    std::uint64_t mark = MarkOf(row.space, row.tokens);
    for (const TokenId token : more) {
      mark = NextMark(mark, token);
      *MarkAt(row.sequence, row.tokens.size()) = static_cast<std::uint16_t>(mark);
      row.tokens.push_back(token);
    }
    row.sequence.Advance(more.size());
  }

  void Put() {
    if (rows_.empty()) {
      return;
    }
    const Row& row = AnyRow();
    const std::size_t count =
        random_.Below(2) == 0 ? row.tokens.size() : random_.Below(row.tokens.size() + 1);
    const Tokens tokens = First(row.tokens, count);
    tree_.Put(row.space, tokens, row.sequence);
    model_.Put(row.space, tokens, row.sequence);
  }

  void Drop() {
    if (!rows_.empty()) {
      std::swap(rows_[random_.Below(rows_.size())], rows_.back());
      rows_.pop_back();
    }
  }

  void Evict(std::size_t pages) {
    const std::size_t before = pool_.available();
    const std::size_t freed = tree_.Evict(pages);
    ASSERT_EQ(freed, model_.Evict(pages, [&](PageId page) { return Held(page) > 0; }));
    ASSERT_EQ(pool_.available(), before + freed);
    evictions_ += freed;
  }

  void Rare() {
    if (rows_.empty()) {
      return;
    }
    Row& row = AnyRow();
    switch (random_.Below(8)) {
      case 0:
        if (random_.Below(8) == 0) {
          tree_.Clear();
          model_.Clear();
        }
        return;
      case 1:
      case 2:
      case 3: {
        const std::size_t length = random_.Below(row.tokens.size() + 1);
        row.sequence.Truncate(length);
        row.tokens.resize(length);
        return;
      }
      default:
        if (rows_.size() < 5) {
          const std::size_t length = random_.Below(row.tokens.size() + 1);
          Row fork{row.space, First(row.tokens, length), row.sequence.Fork(length)};
          rows_.push_back(std::make_unique<Row>(std::move(fork)));
        }
    }
  }

  std::size_t Held(PageId page) const {
    std::size_t holders = 0;
    for (const auto& row : rows_) {
      holders += static_cast<std::size_t>(
          std::count(row->sequence.table().begin(), row->sequence.table().end(), page)
      );
    }
    return holders;
  }

  void Check() {
    std::map<PageId, std::size_t> cached;
    for (const Entry& entry : model_.entries()) {
      ++cached[entry.page];
      ASSERT_EQ(tree_.Match(entry.space, entry.tokens, entry.tokens.size()), entry.tokens.size());
    }
    ASSERT_EQ(tree_.pages(), model_.entries().size());
    std::size_t used = 0;
    for (PageId page = 0; page < touched_pages(); ++page) {
      const std::size_t holders = Held(page) + cached[page];
      ASSERT_EQ(pool_.holders(page), holders) << "page " << page;
      used += holders > 0 ? 1u : 0u;
    }
    ASSERT_EQ(pool_.used(), used);
    Model model = model_;
    ASSERT_EQ(tree_.evictable(), model.Evict(pool_.capacity(), [&](PageId page) {
      return Held(page) > 0;
    }));
    for (const auto& row : rows_) {
      CheckMarks(*row);
    }
  }

  // Pages below this were handed out at some time.
  PageId touched_pages() const {
    PageId most = 0;
    for (const auto& row : rows_) {
      for (const PageId page : row->sequence.table()) {
        most = std::max(most, page + 1);
      }
    }
    for (const Entry& entry : model_.entries()) {
      most = std::max(most, entry.page + 1);
    }
    return most;
  }

  static std::uint64_t NextMark(std::uint64_t mark, TokenId token) {
    return Mixed(mark * 31 + token + 1);
  }

  static std::uint64_t MarkOf(const std::string& space, const Tokens& tokens) {
    std::uint64_t mark = space.size();
    for (const TokenId token : tokens) {
      mark = NextMark(mark, token);
    }
    return mark;
  }

  std::uint16_t* MarkAt(const KvSequence& sequence, std::size_t token) {
    std::byte* page = pool_.LayerPart(sequence.table()[token / kPageTokens], 0);
    return reinterpret_cast<std::uint16_t*>(page) + token % kPageTokens;
  }

  void CheckMarks(const Row& row) {
    ASSERT_EQ(row.sequence.length(), row.tokens.size());
    std::uint64_t mark = MarkOf(row.space, {});
    for (std::size_t i = 0; i < row.tokens.size(); ++i) {
      mark = NextMark(mark, row.tokens[i]);
      ASSERT_EQ(*MarkAt(row.sequence, i), static_cast<std::uint16_t>(mark)) << "token " << i;
    }
  }

  Random random_;
  PagePool pool_;
  PrefixTree tree_;
  Model model_;
  std::vector<std::unique_ptr<Row>> rows_;
  std::vector<Tokens> asked_;
  std::size_t hits_ = 0;
  std::size_t long_hits_ = 0;  // beyond the first page, up to the middle of another
  std::size_t evictions_ = 0;
};

TEST(PrefixTreeModel, EveryOperationAgreesWithTheModelUnderPressure) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trial(seed, 16, 16).Run(10'000);
  }
}

TEST(PrefixTreeModel, TheCeilingAgreesWithTheModel) {
  for (std::uint64_t seed = 101; seed <= 104; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trial(seed, 32, 7).Run(10'000);
  }
}

}  // namespace
}  // namespace hearth
