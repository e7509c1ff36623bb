#include "server/api/sse.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace hearth::api {
namespace {

using Events = std::vector<SseParser::Event>;

Events Parse(std::string_view bytes) {
  SseParser parser;
  return parser.Push(bytes);
}

TEST(Sse, Frames) {
  EXPECT_EQ(SseEvent("{}"), "data: {}\n\n");
  EXPECT_EQ(SseEvent("a\nb", "ping"), "event: ping\ndata: a\ndata: b\n\n");
  EXPECT_EQ(SseEvent(""), "data: \n\n");
  EXPECT_EQ(SseComment("keep-alive"), ": keep-alive\n\n");
}

TEST(Sse, ParserReadsWhatTheStandardAllows) {
  EXPECT_EQ(
      Parse("data:a\r\rdata: b\r\n\r\ndata:  c\n\n"), (Events{{"", "a"}, {"", "b"}, {"", " c"}})
  );
  EXPECT_EQ(Parse(": x\nid: 1\nretry: 2\ndata\n\n"), (Events{{"", ""}}));
  EXPECT_EQ(Parse("event: e\n\nevent: f\ndata: a\ndata: b\n\n"), (Events{{"f", "a\nb"}}));
  EXPECT_EQ(Parse("data: a\r\ndata: b\r\n\r\n"), (Events{{"", "a\nb"}}));
  EXPECT_EQ(Parse("data: cut off"), Events{});
}

TEST(Sse, RoundTripInPiecesOfAnySize) {
  std::mt19937 random(2);  // NOLINT(bugprone-random-generator-seed): the same run each time
  const std::string letters = "a\n: {}\"\xc3\xa9";
  for (int round = 0; round < 2000; ++round) {
    Events events;
    std::string frames;
    for (std::size_t i = random() % 5; i-- > 0;) {
      SseParser::Event event;
      event.name = random() % 2 == 0 ? "" : "name";
      for (std::size_t j = random() % 12; j-- > 0;) {
        event.data += letters[random() % letters.size()];
      }
      frames += SseEvent(event.data, event.name);
      frames += random() % 2 == 0 ? SseComment("c") : "";
      events.push_back(std::move(event));
    }
    SseParser parser;
    Events parsed;
    for (std::size_t at = 0; at < frames.size();) {
      const std::size_t size = 1 + random() % 6;
      for (auto& event : parser.Push(std::string_view(frames).substr(at, size))) {
        parsed.push_back(std::move(event));
      }
      at += size;
    }
    ASSERT_EQ(parsed, events);
    ASSERT_EQ(parser.held_bytes(), 0u);
  }
}

}  // namespace
}  // namespace hearth::api
