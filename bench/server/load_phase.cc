#include "load_phase.h"

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <random>
#include <utility>

#include "server/api/sse.h"

namespace hearth::bench {
namespace {

using boost::asio::awaitable;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::chrono::milliseconds kAfterRefusal{100};

constexpr std::array kWords = {"the",    "river",  "stone", "why",   "number", "green",  "engine",
                               "letter", "seven",  "ocean", "small", "music",  "paper",  "über",
                               "猫",     "winter", "count", "tell",  "story",  "garden", "light"};

double Since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Where a request is broken off.
enum class Break { kNever, kInRequest, kBeforeHead, kInStream };

struct Plan {
  Json body;
  Break at = Break::kNever;
  std::size_t events = 0;  // that are read before the break
  double sent_share = 1;   // of the request's bytes
  Goodbye goodbye = Goodbye::kClose;
};

std::size_t Draw(std::mt19937_64& random, std::size_t least, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(least, most)(random);
}

double DrawShare(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}

Plan DrawPlan(const LoadOptions& options, std::mt19937_64& random) {
  std::string text;
  for (std::size_t words = Draw(random, 1, options.most_words); words > 0; --words) {
    text += std::string(kWords[Draw(random, 0, kWords.size() - 1)]) + " ";
  }
  Plan plan;
  plan.body = {
      {"messages", Json::array({{{"role", "user"}, {"content", text}}})},
      {"max_tokens", Draw(random, 1, options.most_tokens)},
      {"temperature", DrawShare(random) < 0.3 ? 0.0 : 0.5 + DrawShare(random)},
      {"stream", true},
      {"stream_options", {{"include_usage", true}}},
  };
  if (DrawShare(random) < 0.1) {
    plan.body["n"] = 2;
  }
  if (DrawShare(random) < 0.2) {
    plan.body["stop"] = {"the end", "\n\n\n"};
  }
  if (DrawShare(random) < options.abort_share) {
    const double where = DrawShare(random);
    plan.at = where < 0.15  ? Break::kInRequest
              : where < 0.4 ? Break::kBeforeHead
                            : Break::kInStream;
    plan.events = Draw(random, 0, options.most_tokens / 2);
    plan.sent_share = DrawShare(random);
    plan.goodbye = DrawShare(random) < 0.5 ? Goodbye::kClose : Goodbye::kReset;
  }
  return plan;
}

// What a stream said; says whether it was whole.
struct Story {
  std::size_t choices = 1;
  std::size_t finished = 0;
  bool usage = false;
  bool done = false;
  std::string fault;
  std::size_t completion_tokens = 0;
  std::string reason;

  std::string Judge() const {
    if (!fault.empty()) {
      return fault;
    }
    if (finished != choices) {
      return "a stream with another number of ends than choices";
    }
    return !usage ? "a stream without usage" : !done ? "a stream without [DONE]" : "";
  }
};

class Stream {
 public:
  Stream(const LoadOptions& options, LoadFigures& figures)
      : options_(options), figures_(figures), client_(options.server) {}

  static awaitable<void> Run(Stream& self, Plan plan) {
    std::string failed;
    try {
      awaitable<void> trying = Try(self, plan);
      co_await std::move(trying);
    } catch (const std::exception& error) {
      failed = error.what();
    }
    if (!failed.empty()) {
      ++self.figures_.unexpected["connection: " + failed];
      self.client_.Leave(Goodbye::kClose);
    }
  }

 private:
  void BreakOff(const Plan& plan, const char* where) {
    client_.Leave(plan.goodbye);
    ++figures_.ends[std::string("aborted ") + where];
  }

  static awaitable<void> Try(Stream& self, const Plan& plan) {
    const std::string body = plan.body.dump();
    const std::size_t sent =
        plan.at == Break::kInRequest
            ? static_cast<std::size_t>(plan.sent_share * static_cast<double>(body.size() + 100))
            : std::string::npos;
    const Clock::time_point begin = Clock::now();
    awaitable<void> sending = self.client_.Send("/v1/chat/completions", body, sent);
    co_await std::move(sending);
    if (plan.at == Break::kInRequest || plan.at == Break::kBeforeHead) {
      self.BreakOff(plan, plan.at == Break::kInRequest ? "in the request" : "before the head");
      co_return;
    }
    awaitable<int> heading = self.client_.ReadHead();
    const int status = co_await std::move(heading);
    Story story;
    story.choices = plan.body.value("n", 1U);
    api::SseParser parser;
    std::string refusal;
    std::size_t events = 0;
    std::optional<Clock::time_point> last;
    while (true) {
      awaitable<std::string> reading = self.client_.ReadSome();
      const std::string piece = co_await std::move(reading);
      if (piece.empty()) {
        break;
      }
      if (status != 200) {
        refusal += piece;
        continue;
      }
      for (const api::SseParser::Event& event : parser.Push(piece)) {
        ++events;
        self.Take(event.data, begin, last, story);
      }
      if (plan.at == Break::kInStream && events >= plan.events) {
        self.BreakOff(plan, "in the stream");
        co_return;
      }
    }
    self.Close(status, refusal, story);
    if (status == 429) {
      boost::asio::steady_timer pause(co_await boost::asio::this_coro::executor);
      pause.expires_after(kAfterRefusal);
      co_await pause.async_wait(boost::asio::use_awaitable);
    }
  }

  void Take(
      const std::string& data,
      Clock::time_point begin,
      std::optional<Clock::time_point>& last,
      Story& story
  ) {
    if (story.done) {
      story.fault = "an event after [DONE]";
    }
    if (data == "[DONE]") {
      story.done = true;
      return;
    }
    const Json chunk = Json::parse(data);
    if (chunk.contains("error")) {
      story.fault = "in band: " + chunk["error"].value("message", std::string());
      return;
    }
    if (chunk["usage"].is_object()) {
      story.usage = true;
      story.completion_tokens = chunk["usage"]["completion_tokens"].get<std::size_t>();
    }
    for (const Json& choice : chunk["choices"]) {
      if (!choice["finish_reason"].is_null()) {
        ++story.finished;
        story.reason = choice["finish_reason"].get<std::string>();
      } else if (!choice["delta"].value("content", std::string()).empty()) {
        // With two choices a gap is one between any two pieces of the answer.
        const Clock::time_point now = Clock::now();
        if (last) {
          figures_.inter_token.push_back(std::chrono::duration<double>(now - *last).count());
        } else {
          figures_.first_token.push_back(Since(begin));
        }
        last = now;
      }
    }
  }

  void Close(int status, const std::string& refusal, const Story& story) {
    if (status == 429) {
      ++figures_.ends["refused: 429"];
    } else if (status != 200) {
      ++figures_.unexpected["status " + std::to_string(status) + ": " + refusal.substr(0, 200)];
    } else if (const std::string fault = story.Judge(); !fault.empty()) {
      ++figures_.unexpected[fault];
    } else {
      ++figures_.ends["complete: " + story.reason];
      figures_.completion_tokens += story.completion_tokens;
    }
  }

  const LoadOptions& options_;
  LoadFigures& figures_;
  HttpClient client_;
};

}  // namespace

awaitable<void> RunStream(
    const LoadOptions& options, std::size_t index, Clock::time_point until, LoadFigures& figures
) {
  std::mt19937_64 random(options.seed * 1'000'003 + index);
  Stream stream(options, figures);
  while (Clock::now() < until) {
    Plan plan = DrawPlan(options, random);
    awaitable<void> running = Stream::Run(stream, std::move(plan));
    co_await std::move(running);
  }
}

}  // namespace hearth::bench
