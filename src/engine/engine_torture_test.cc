// The engine under random requests, readers, failures and shortages, on a loop held in the hand, so that a seed repeats a
// failure. The model reads the whole history back from the pages: whoever gets another's page, or a stale one, answers wrong.
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <set>

#include "engine/engine_test_fixture.h"
#include "engine/history_test_model.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

// Does a step's work some turns of the loop later, as a thread would.
class LateStepRunner final : public StepRunner {
 public:
  LateStepRunner(boost::asio::any_io_executor executor, std::mt19937& random)
      : executor_(std::move(executor)), random_(random) {}

  awaitable<void> Run(std::function<void()> work) override {
    for (unsigned turns = random_() % 4; turns > 0; --turns) {
      co_await boost::asio::post(executor_, boost::asio::use_awaitable);
    }
    work();
    for (unsigned turns = random_() % 4; turns > 0; --turns) {
      co_await boost::asio::post(executor_, boost::asio::use_awaitable);
    }
  }

 private:
  boost::asio::any_io_executor executor_;
  std::mt19937& random_;
};

struct TimersByHand final : Timer {
  std::function<void()> After(std::chrono::milliseconds, std::function<void()> callback) override {
    const std::size_t id = next++;
    live[id] = std::move(callback);
    return [this, id] { live.erase(id); };
  }

  std::map<std::size_t, std::function<void()>> live;
  std::size_t next = 0;
};

struct Client {
  GenerationRequest request;
  std::shared_ptr<Session> session;
  std::optional<EventReader> reader;
  std::shared_ptr<testing_support::Settled<std::optional<GenerationEvent>>> reading;
  std::shared_ptr<testing_support::Settled<GenerationOutcome>> result;
  std::vector<TokenId> got;
  std::size_t shown = 0;  // prompt positions that the sink has seen
  double progress = 0;
  bool lazy = false;         // reads only now and then
  bool dead = false;         // does not read any more
  bool may_fail = false;     // its own sink or callback fails, or its logits
  bool ended_early = false;  // cancelled, stopped by its callback, or perhaps idle
};

struct Shape {
  std::size_t context, pages, batch, queue, step_tokens, prefill_tokens;
  bool cache, forward_fails;
};

class Torture {
 public:
  Torture(unsigned seed, const Shape& shape)
      : random_(seed),
        shape_(shape),
        model_(shape.context),
        kernels_(SamplingKernelsFor(AttainableIsas().back())),
        steps_(loop_.executor(), random_) {
    EngineParts parts;
    parts.executor = loop_.executor();
    parts.timer = &timer_;
    parts.steps = &steps_;
    parts.model = &model_;
    parts.team = &team_;
    parts.kernels = &kernels_;
    parts.vocabulary = {.size = kVocabulary};
    parts.report = [](const std::exception_ptr& error) {
      ADD_FAILURE() << "reported: " << DescribeError(error);
    };
    EngineLimits limits;
    limits.batch = shape.batch;
    limits.queue = shape.queue;
    limits.pages = shape.pages;
    limits.step_tokens = shape.step_tokens;
    limits.prefill_tokens = shape.prefill_tokens;
    limits.prompt_cache = shape.cache;
    limits.session.max_queued_events = 1 + Below(6);
    limits.session.max_queued_tokens = 1 + Below(12);
    engine_ = std::make_unique<InferenceEngine>(parts, limits);
    model_.on_forward = [this] {
      if (shape_.forward_fails && Below(40) == 0) {
        failed_forwards_ = true;
        throw std::bad_alloc();
      }
    };
  }

  void Run(int moves) {
    for (int i = 0; i < moves && !::testing::Test::HasFailure(); ++i) {
      Move();
    }
    if (Below(3) == 0) {
      Close();
    }
    // From here on a reader reads always or never: those who do must come to their end, and then the loop rests.
    for (Client& client : clients_) {
      client.dead = client.lazy && Below(2) == 0;
      client.lazy = false;
    }
    ComeToRest();
    for (const Client& client : clients_) {
      ASSERT_TRUE(client.dead || !client.result->pending()) << "somebody waits for ever";
    }
    for (Client& client : clients_) {
      client.ended_early |= client.dead;
    }
    while (!timer_.live.empty()) {  // those who never read are idle
      timer_.live.extract(timer_.live.begin()).mapped()();
      ComeToRest();
    }
    const EngineGauges& gauges = engine_->gauges();
    EXPECT_EQ(gauges.sessions, 0u);
    EXPECT_EQ(gauges.queued + gauges.preparing + gauges.active + gauges.parked, 0u);
    EXPECT_EQ(gauges.leases, 0u);
    EXPECT_EQ(gauges.pages_used, gauges.pages_cached);
    Close();
    ComeToRest();
    ASSERT_FALSE(closed_->pending());
    EXPECT_EQ(gauges.pages_used, 0u);
    EXPECT_EQ(timer_.live.size(), 0u);
    for (const Client& client : clients_) {
      Check(client);
    }
  }

  std::size_t completed = 0;

  std::uint64_t preemptions() const { return engine_->gauges().preemptions; }

 private:
  unsigned Below(std::size_t bound) { return static_cast<unsigned>(random_() % bound); }

  void Close() {
    if (!closed_) {
      closing_ = true;
      closed_ = loop_.Spawn(engine_->Close());
    }
  }

  void Move() {
    switch (Below(8)) {
      case 0:
      case 1:
        return Open();
      case 2: {
        if (!clients_.empty() && Below(3) == 0) {
          Client& client = clients_[Below(clients_.size())];
          client.ended_early = true;
          client.session->Cancel();
        }
        return;
      }
      case 3:
        if (!timer_.live.empty() && Below(8) == 0) {
          for (Client& client : clients_) {
            client.ended_early |= client.reader.has_value();
          }
          const auto fired = std::next(
              timer_.live.begin(), static_cast<std::ptrdiff_t>(Below(timer_.live.size()))
          );
          const std::function<void()> callback = fired->second;
          timer_.live.erase(fired);
          callback();
        }
        return;
      case 4:
        ReadAll();
        return;
      default:
        for (unsigned handlers = Below(30); handlers > 0 && loop_.RunOne(); --handlers) {
        }
    }
  }

  void Open() {
    clients_.emplace_back();
    Client& client = clients_.back();
    GenerationRequest& request = client.request;
    const std::size_t room = std::min(shape_.context, shape_.pages * kPageTokens);
    std::size_t length = 1 + Below(room - 1);
    if (Below(6) == 0) {
      length = room - Below(2);
    }
    std::mt19937 family(Below(3));
    for (std::size_t i = 0; i < length; ++i) {
      request.prompt.push_back(static_cast<TokenId>(family() % (kVocabulary - 1)));
    }
    for (unsigned own = Below(4); own > 0; --own) {
      request.prompt[Below(length)] = static_cast<TokenId>(Below(kVocabulary - 1));
    }
    if (Below(30) == 0) {
      request.prompt[length - 1] = kPoison;
      client.may_fail = true;
    }
    const std::uint64_t most[] = {0, 1, 2, 20, 90, ~std::uint64_t{0}};
    request.max_tokens = length == room ? 0 : most[Below(6)];
    request.use_cache = Below(6) != 0;
    request.session_id = Below(2) == 0 ? "" : "s" + std::to_string(Below(3));
    request.cache_space = Below(4) == 0 ? "other" : "";
    if (Below(4) == 0) {
      request.stop_tokens = {static_cast<TokenId>(Below(kVocabulary - 1))};
    }
    const bool sink_fails = Below(20) == 0;
    if (Below(5) == 0) {
      client.may_fail |= sink_fails;
      request.prompt_logits = [&client, sink_fails](std::size_t position, std::span<const float>) {
        EXPECT_EQ(position, client.shown++);
        if (sink_fails && position == 5) {
          throw std::runtime_error("sink");
        }
      };
    }
    if (Below(8) == 0) {
      request.prompt_scores = [](std::size_t, const TokenLogprobs&) {};
      request.prompt_scores_top = Below(3);
    }
    RunControl control;
    const OutputMode modes[] = {OutputMode::kStream, OutputMode::kCollect, OutputMode::kCallback};
    control.output = modes[Below(3)];
    client.lazy = Below(3) == 0;
    if (control.output == OutputMode::kCallback) {
      const unsigned manner = Below(8);
      client.may_fail |= manner == 0;
      client.ended_early |= manner == 1;
      control.on_tokens =
          [this, &client, manner](std::span<const TokenId> ids, LogprobsView) -> awaitable<bool> {
        client.got.insert(client.got.end(), ids.begin(), ids.end());
        return Answer(manner, client.got.size());
      };
    }
    try {
      client.session = engine_->Open(request, control);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kOverloaded) << error.what();
      clients_.pop_back();
      return;
    }
    if (control.output == OutputMode::kStream) {
      client.reader = client.session->TakeReader();
    }
    client.result = loop_.Spawn(client.session->Result());
  }

  void ComeToRest() {
    int handlers = 0;
    for (int idle = 0; idle < 2;) {
      ReadAll();
      for (idle += 1; loop_.RunOne(); idle = 0) {
        ASSERT_LT(++handlers, 500'000) << "the loop finds no rest";
        ReadAll();
      }
    }
  }

  awaitable<bool> Answer(unsigned manner, std::size_t got) {
    for (unsigned turns = Below(3); turns > 0; --turns) {
      co_await boost::asio::post(loop_.executor(), boost::asio::use_awaitable);
    }
    if (manner == 0 && got > 3) {
      throw std::runtime_error("callback");
    }
    co_return !(manner == 1 && got > 3);
  }

  void ReadAll() {
    for (Client& client : clients_) {
      if (!client.reader || client.dead || (client.lazy && Below(10) != 0)) {
        continue;
      }
      if (client.reading && !client.reading->pending()) {
        if (const std::optional<GenerationEvent> event = client.reading->value()) {
          if (const auto* tokens = std::get_if<CommittedTokens>(&*event)) {
            client.got.insert(client.got.end(), tokens->token_ids.begin(), tokens->token_ids.end());
          } else {
            const double completed_tokens = std::get<GenerationProgress>(*event).completed;
            EXPECT_GT(completed_tokens, client.progress);
            client.progress = completed_tokens;
          }
          client.reading.reset();
        }
      }
      if (!client.reading) {
        client.reading = loop_.Spawn(client.reader->Next());
      }
    }
  }

  void Check(const Client& client) {
    ASSERT_FALSE(client.result->pending());
    const GenerationOutcome& outcome = client.result->value();
    const GenerationRequest& request = client.request;
    const std::vector<TokenId>& got = outcome.output ? *outcome.output : client.got;
    // What it gets alone.
    std::vector<TokenId> expected;
    FinishReason reason = FinishReason::kLength;
    std::uint64_t hash = 0;
    for (const TokenId token : request.prompt) {
      hash = Follow(hash, token);
    }
    const std::size_t room =
        std::min(shape_.context, shape_.pages * kPageTokens) - request.prompt.size();
    while (expected.size() < std::min<std::uint64_t>(room, request.max_tokens)) {
      const TokenId next = TokenAfter(hash);
      if (!request.stop_tokens.empty() && request.stop_tokens[0] == next) {
        reason = FinishReason::kStop;
        break;
      }
      expected.push_back(next);
      hash = Follow(hash, next);
    }
    ASSERT_LE(got.size(), expected.size());
    ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
    if (const auto* end = std::get_if<GenerationOutcome::Completed>(&outcome.end)) {
      ++completed;
      if (!client.ended_early) {
        ASSERT_EQ(got.size(), expected.size());
        ASSERT_EQ(end->result.finish_reason, reason);
        if (request.prompt_logits) {
          ASSERT_EQ(client.shown, request.prompt.size());
        }
      }
    } else if (const auto* failed = std::get_if<GenerationOutcome::Failed>(&outcome.end)) {
      ASSERT_TRUE(client.may_fail || failed_forwards_) << failed->message;
    } else {
      ASSERT_TRUE(client.ended_early || closing_);
    }
  }

  std::mt19937 random_;
  Shape shape_;
  testing_support::ManualLoop loop_;
  TimersByHand timer_;
  HistoryModel model_;
  WorkerTeam team_{1};
  SamplingKernels kernels_;
  LateStepRunner steps_;
  std::unique_ptr<InferenceEngine> engine_;
  std::deque<Client> clients_;
  std::shared_ptr<testing_support::Settled<bool>> closed_;
  bool closing_ = false;
  bool failed_forwards_ = false;
};

TEST(EngineTorture, EverybodyEndsAndNobodyGetsAnothersAnswer) {
  std::mt19937 random(1);
  const auto one_of = [&](std::initializer_list<std::size_t> values) {
    return values.begin()[random() % values.size()];
  };
  std::size_t completed = 0;
  std::uint64_t preemptions = 0;
  const char* from = std::getenv("TORTURE_FROM");
  const char* count = std::getenv("TORTURE_COUNT");
  const unsigned first = from == nullptr ? 0u : static_cast<unsigned>(std::stoul(from));
  const unsigned rounds = count == nullptr ? 60u : static_cast<unsigned>(std::stoul(count));
  for (unsigned seed = 0; seed < first + rounds; ++seed) {
    const Shape shape{
        .context = one_of({64, 100, 256, 300}),
        .pages = one_of({1, 2, 3, 4, 6, 9, 30}),
        .batch = one_of({1, 2, 3, 8}),
        .queue = one_of({0, 1, 5, 20}),
        .step_tokens = one_of({1, 2, 7, 64}),
        .prefill_tokens = one_of({1, 9, 64, 512}),
        .cache = random() % 4 != 0,
        .forward_fails = random() % 6 == 0,
    };
    if (seed < first) {
      continue;
    }
    SCOPED_TRACE(
        ::testing::Message() << "seed " << seed << " context " << shape.context << " pages "
                             << shape.pages << " batch " << shape.batch << " queue " << shape.queue
                             << " step " << shape.step_tokens << " prefill " << shape.prefill_tokens
                             << " cache " << shape.cache << " fails " << shape.forward_fails
    );
    Torture torture(seed, shape);
    torture.Run(400);
    completed += torture.completed;
    preemptions += torture.preemptions();
    if (::testing::Test::HasFailure()) {
      return;
    }
  }
  EXPECT_GT(completed, rounds);
  EXPECT_GT(preemptions, 0u);
}

}  // namespace
}  // namespace hearth
