#include "text/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth {
namespace {

using Strings = std::vector<std::string>;

struct Matched {
  std::string text;
  std::optional<std::size_t> by;

  bool operator==(const Matched&) const = default;
};

Matched Match(const Strings& pieces, const Strings& stops) {
  StopMatcher matcher(stops);
  Matched result;
  for (const std::string& piece : pieces) {
    matcher.Push(piece, result.text);
  }
  matcher.Finish(result.text);
  result.by = matcher.stopped_by();
  return result;
}

// What the header says, without a stream: the first place where a stop ends, and of those the longest.
Matched Define(const std::string& text, const Strings& stops) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    const std::string read = text.substr(0, end);
    std::optional<std::size_t> by;
    for (std::size_t i = 0; i < stops.size(); ++i) {
      if (read.ends_with(stops[i]) && (!by || stops[i].size() > stops[*by].size())) {
        by = i;
      }
    }
    if (by) {
      return {read.substr(0, end - stops[*by].size()), by};
    }
  }
  return {text, std::nullopt};
}

// The pieces of a text, cut behind byte i where bit i of `cuts` is set.
Strings Cut(const std::string& text, unsigned cuts) {
  Strings pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    pieces.back() += text[i];
    if ((cuts >> i & 1u) != 0) {
      pieces.emplace_back();
    }
  }
  return pieces;
}

TEST(StopMatcher, Fault08_StopStringThatSpansTokens) {
  EXPECT_EQ(
      Match({"alpha", " beta", " gam", "ma", " delta"}, {"beta gamma"}), (Matched{"alpha ", 0})
  );
}

TEST(StopMatcher, Fault13_HeldTextComesAtTheEnd) {
  EXPECT_EQ(Match({"one", " tw"}, {" two"}), (Matched{"one tw", std::nullopt}));
}

TEST(StopMatcher, HoldsExactlyWhatMayBeginAStop) {
  StopMatcher matcher({"ab|long tail", "b|c"});
  std::string out;
  matcher.Push("xa", out);
  EXPECT_EQ(out, "x");
  matcher.Push("b|", out);
  EXPECT_EQ(out, "x");
  matcher.Push("l", out);
  EXPECT_EQ(out, "x");
  EXPECT_EQ(matcher.held_bytes(), 4u);
  matcher.Push("?", out);
  EXPECT_EQ(out, "xab|l?");
  EXPECT_EQ(matcher.held_bytes(), 0u);
}

TEST(StopMatcher, TheFirstToBeCompleteEndsTheText) {
  EXPECT_EQ(Match({"abcd"}, {"abcd", "bc"}), (Matched{"a", 1}));
  EXPECT_EQ(Match({"abcd"}, {"cd", "bcd", "d"}), (Matched{"a", 1}));
  EXPECT_EQ(Match({"stop"}, {"stop", "stop"}), (Matched{"", 0}));
}

TEST(StopMatcher, AStopThatRepeatsItself) {
  EXPECT_EQ(Match({"aabaaabaaacx"}, {"aabaaac"}), (Matched{"aaba", 0}));
}

TEST(StopMatcher, NothingFollowsAStop) {
  StopMatcher matcher({"."});
  std::string out;
  matcher.Push("a.b", out);
  matcher.Push("c", out);
  matcher.Finish(out);
  EXPECT_EQ(out, "a");
  EXPECT_EQ(matcher.stopped_by(), 0u);
}

TEST(StopMatcher, PiecesOfWholeCharactersStayWhole) {
  StopMatcher matcher({"\u00e9\u00e8"});
  std::string out;
  matcher.Push("a\u00e9", out);
  EXPECT_EQ(out, "a");
  matcher.Push("\u00e9", out);  // its first byte is also that of the second character of the stop
  EXPECT_EQ(out, "a\u00e9");
}

TEST(StopMatcher, WithoutStopsTextGoesThrough) {
  EXPECT_EQ(Match({"a", "", "b"}, {}), (Matched{"ab", std::nullopt}));
}

TEST(StopMatcher, RefusesTheEmptyStop) {
  EXPECT_THROW(StopMatcher({"a", ""}), Error);
}

TEST(StopMatcher, EveryCutOfEveryShortText) {
  const std::vector<Strings> sets = {
      {"aab"}, {"aa", "aba"}, {"abab", "b"}, {"ababb", "bab", "aaa"}, {"bb", "abb"}
  };
  for (const Strings& stops : sets) {
    for (unsigned letters = 0; letters < 256; ++letters) {
      std::string text;
      for (unsigned i = 0; i < 8; ++i) {
        text += (letters >> i & 1u) != 0 ? 'a' : 'b';
      }
      const Matched wanted = Define(text, stops);
      for (unsigned cuts = 0; cuts < 128; ++cuts) {
        ASSERT_EQ(Match(Cut(text, cuts), stops), wanted) << text << " cut by " << cuts;
      }
    }
  }
}

TEST(StopMatcher, RandomTextsStopsAndCuts) {
  std::mt19937 random(3);  // NOLINT(bugprone-random-generator-seed): the same run each time
  const auto draw = [&](std::size_t longest) {
    std::string text;
    for (std::size_t i = random() % longest; i-- > 0;) {
      text += "ab|\n"[random() % 4];
    }
    return text;
  };
  int stopped = 0;
  for (int round = 0; round < 3000; ++round) {
    Strings stops;
    for (std::size_t i = random() % 4; i-- > 0;) {
      stops.push_back("a" + draw(6));
    }
    const std::string text = draw(40);
    const Matched wanted = Define(text, stops);
    stopped += wanted.by ? 1 : 0;
    Strings pieces;
    for (std::size_t at = 0; at < text.size();) {
      pieces.push_back(text.substr(at, 1 + random() % 5));
      at += pieces.back().size();
    }
    ASSERT_EQ(Match(pieces, stops), wanted) << text;
  }
  EXPECT_GT(stopped, 500);
}

}  // namespace
}  // namespace hearth
