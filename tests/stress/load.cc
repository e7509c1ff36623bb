#include "stress/load.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "contracts/aggregate_error.h"
#include "engine/inference_engine.h"
#include "engine/loop_timer.h"
#include "hearth/error.h"
#include "methods/autoregressive.h"
#include "sampling/seed.h"

namespace hearth::stress {
namespace {

using boost::asio::awaitable;

// How a client behaves.
struct Manner {
  OutputMode output = OutputMode::kStream;
  int arrival_ms = 0;
  std::size_t cancel_after = ~std::size_t{0};  // tokens that it has seen
  std::size_t stop_after = ~std::size_t{0};    // a callback's no
  int read_pause_us = 0;                       // between reads of a stream
};

struct Case {
  GenerationRequest request;
  Manner manner;
};

struct Seen {
  std::vector<SampledToken> tokens;
  std::optional<GenerationOutcome> outcome;
  std::string refused;
};

// What a request gets alone: one sequence, one forward at a time, no engine.
struct SoloAnswer {
  std::vector<SampledToken> tokens;
  FinishReason reason = FinishReason::kStop;
};

SoloAnswer AnswerAlone(const TestedModel& tested, const GenerationRequest& request) {
  const ModelFacts& facts = tested.model->facts();
  PagePool pool(facts.kv, facts.context_length / kPageTokens + 1);
  KvSequence sequence(pool);
  SoloAnswer answer;
  const AutoregressiveResult result = GenerateAutoregressive(
      *tested.model,
      sequence,
      {request.prompt,
       {static_cast<std::size_t>(request.max_tokens), request.stop_tokens},
       Sampler(request.sampling, request.seed, tested.vocabulary, *tested.kernels),
       facts.context_length},
      512,
      [&](const SampledToken& token) {
        answer.tokens.push_back(token);
        return true;
      },
      [] { return false; }
  );
  answer.reason = *result.reason;
  return answer;
}

std::vector<Case> MakeCases(const Load& load, std::size_t vocabulary) {
  std::mt19937 random(2026);
  const auto below = [&](unsigned bound) { return static_cast<unsigned>(random() % bound); };
  // Families of prompts with common beginnings of all lengths, so that pages are shared.
  std::vector<std::vector<TokenId>> families(6);
  for (std::vector<TokenId>& family : families) {
    family.resize(260);
    for (TokenId& token : family) {
      token = static_cast<TokenId>(below(static_cast<unsigned>(vocabulary)));
    }
  }
  std::vector<Case> cases(load.requests);
  for (std::size_t i = 0; i < load.requests; ++i) {
    Case& made = cases[i];
    GenerationRequest& request = made.request;
    const std::vector<TokenId>& family = families[below(6)];
    request.prompt.assign(family.begin(), family.begin() + static_cast<int>(below(10) * below(26)));
    for (unsigned own = 1 + below(30); own > 0; --own) {
      request.prompt.push_back(static_cast<TokenId>(below(static_cast<unsigned>(vocabulary))));
    }
    request.max_tokens = below(12) == 0 ? 0 : 1 + below(24);
    request.seed = Mix(77, i);
    request.session_id = below(2) == 0 ? "" : "session-" + std::to_string(below(9));
    request.use_cache = below(8) != 0;
    if (below(3) == 0) {
      request.stop_tokens = {
          static_cast<TokenId>(below(static_cast<unsigned>(vocabulary))),
          static_cast<TokenId>(below(static_cast<unsigned>(vocabulary)))
      };
    }
    SamplingParameters& sampling = request.sampling;
    if (below(3) != 0) {
      sampling.temperature = 0.5 + 0.1 * below(10);
      sampling.top_k = below(2) == 0 ? 0 : 1 + below(50);
      sampling.top_p = below(2) == 0 ? 1 : 0.5 + 0.04 * below(10);
      sampling.min_p = below(3) == 0 ? 0.02 : 0;
    }
    if (below(3) == 0) {
      sampling.repetition_penalty = 1.1 + 0.1 * below(3);
      sampling.frequency_penalty = 0.2 * below(3);
    }
    Manner& manner = made.manner;
    const OutputMode modes[] = {OutputMode::kStream, OutputMode::kCollect, OutputMode::kCallback};
    manner.output = modes[below(3)];
    if (manner.output != OutputMode::kCollect && below(3) == 0) {
      sampling.top_logprobs = below(6);
    }
    manner.arrival_ms = static_cast<int>(below(static_cast<unsigned>(load.arrival_ms)));
    if (below(5) == 0) {
      manner.cancel_after = below(6);
    }
    if (manner.output == OutputMode::kCallback && below(6) == 0) {
      manner.stop_after = 1 + below(5);
    }
    manner.read_pause_us = below(4) == 0 ? static_cast<int>(below(3000)) : 0;
  }
  return cases;
}

SampledToken ToSampled(TokenId id, const std::optional<TokenLogprobs>* logprobs) {
  SampledToken token;
  token.token = id;
  if (logprobs != nullptr && *logprobs) {
    token.logprob = (*logprobs)->logprob.value();
    for (const TopLogprob& top : *(*logprobs)->top) {
      token.top_logprobs.push_back({top.id, top.logprob});
    }
  }
  return token;
}

awaitable<void> Sleep(std::chrono::microseconds time) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

awaitable<bool> OnTokens(
    Seen* seen,
    const Manner* manner,
    std::shared_ptr<Session>* session,
    std::vector<TokenId> ids,
    std::vector<std::optional<TokenLogprobs>> logprobs
) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    seen->tokens.push_back(ToSampled(ids[i], logprobs.empty() ? nullptr : &logprobs[i]));
  }
  if (manner->read_pause_us > 0) {
    co_await Sleep(std::chrono::microseconds(manner->read_pause_us));
  }
  if (seen->tokens.size() >= manner->cancel_after) {
    (*session)->Cancel();
  }
  co_return seen->tokens.size() < manner->stop_after;
}

awaitable<void> Client(InferenceEngine* engine, const Case* made, Seen* seen, std::size_t* left) {
  const Manner& manner = made->manner;
  co_await Sleep(std::chrono::milliseconds(manner.arrival_ms));
  std::shared_ptr<Session> session;
  RunControl control;
  control.output = manner.output;
  if (manner.output == OutputMode::kCallback) {
    control.on_tokens =
        [seen, &manner, &session](std::span<const TokenId> ids, LogprobsView logprobs) {
          std::vector<std::optional<TokenLogprobs>> items;
          if (logprobs) {
            items.assign(logprobs->begin(), logprobs->end());
          }
          return OnTokens(seen, &manner, &session, {ids.begin(), ids.end()}, std::move(items));
        };
  }
  while (session == nullptr) {
    bool full = false;
    try {
      session = engine->Open(made->request, control);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kOverloaded) {
        seen->refused = error.what();
        break;
      }
      full = true;
    }
    if (full) {
      co_await Sleep(std::chrono::milliseconds(20));
    }
  }
  if (session != nullptr) {
    if (manner.cancel_after == 0) {
      session->Cancel();
    }
    if (manner.output == OutputMode::kStream) {
      EventReader reader = session->TakeReader();
      while (true) {
        awaitable<std::optional<GenerationEvent>> reading = reader.Next();
        const std::optional<GenerationEvent> event = co_await std::move(reading);
        if (!event) {
          break;
        }
        if (const auto* committed = std::get_if<CommittedTokens>(&*event)) {
          for (std::size_t i = 0; i < committed->token_ids.size(); ++i) {
            seen->tokens.push_back(ToSampled(
                committed->token_ids[i], committed->logprobs ? &(*committed->logprobs)[i] : nullptr
            ));
          }
        }
        if (seen->tokens.size() >= manner.cancel_after) {
          session->Cancel();
        }
        if (manner.read_pause_us > 0) {
          co_await Sleep(std::chrono::microseconds(manner.read_pause_us));
        }
      }
    }
    awaitable<GenerationOutcome> ending = session->Result();
    seen->outcome = co_await std::move(ending);
    if (seen->outcome->output) {
      for (const TokenId id : *seen->outcome->output) {
        seen->tokens.push_back(ToSampled(id, nullptr));
      }
    }
  }
  --*left;
}

}  // namespace

void RunLoad(const TestedModel& tested, const Load& load, LoadFacts& facts) {
  const std::vector<Case> cases = MakeCases(load, tested.vocabulary.size);
  std::vector<Seen> seen(cases.size());
  {
    boost::asio::io_context loop;
    JobThread thread("steps");
    ThreadStepRunner steps(thread);
    LoopTimer timer(loop.get_executor());
    EngineParts parts;
    parts.executor = loop.get_executor();
    parts.timer = &timer;
    parts.steps = &steps;
    parts.model = tested.model;
    parts.team = tested.team;
    parts.kernels = tested.kernels;
    parts.vocabulary = tested.vocabulary;
    std::string reported;
    parts.report = [&](const std::exception_ptr& error) { reported += DescribeError(error); };
    EngineLimits limits;
    limits.batch = load.batch;
    limits.queue = 64;
    limits.step_tokens = load.step_tokens;
    limits.prefill_tokens = 2 * load.step_tokens;
    limits.pages = load.pages;
    InferenceEngine engine(parts, limits);
    std::size_t left = cases.size();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      boost::asio::co_spawn(
          loop, Client(&engine, &cases[i], &seen[i], &left), [](const std::exception_ptr& error) {
            if (error) {
              std::rethrow_exception(error);
            }
          }
      );
    }
    while (left > 0) {
      loop.run_one();
    }
    const EngineGauges& gauges = engine.gauges();
    EXPECT_EQ(gauges.sessions, 0u);
    EXPECT_EQ(gauges.queued, 0u);
    EXPECT_EQ(gauges.preparing, 0u);
    EXPECT_EQ(gauges.active, 0u);
    EXPECT_EQ(gauges.parked, 0u);
    EXPECT_EQ(gauges.pages_used, gauges.pages_cached);
    facts.preemptions = gauges.preemptions;
    facts.cache_hits = gauges.cache_hits;
    bool closed = false;
    boost::asio::co_spawn(loop, engine.Close(), [&](const std::exception_ptr&) { closed = true; });
    while (!closed) {
      loop.run_one();
    }
    EXPECT_EQ(gauges.leases, 0u);
    EXPECT_EQ(gauges.pages_used, 0u);
    EXPECT_EQ(reported, "");
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& made = cases[i];
    ASSERT_EQ(seen[i].refused, "") << i;
    ASSERT_TRUE(seen[i].outcome) << i;
    const SoloAnswer alone = AnswerAlone(tested, made.request);
    const std::size_t count = seen[i].tokens.size();
    ASSERT_LE(count, alone.tokens.size()) << i;
    for (std::size_t t = 0; t < count; ++t) {
      ASSERT_EQ(seen[i].tokens[t].token, alone.tokens[t].token) << i << " token " << t;
      if (made.request.sampling.top_logprobs) {
        ASSERT_EQ(seen[i].tokens[t].logprob, static_cast<float>(*alone.tokens[t].logprob)) << i;
        const std::vector<TokenLogprob>& top = seen[i].tokens[t].top_logprobs;
        ASSERT_EQ(top.size(), alone.tokens[t].top_logprobs.size()) << i;
        for (std::size_t k = 0; k < top.size(); ++k) {
          const TokenLogprob& expected = alone.tokens[t].top_logprobs[k];
          ASSERT_EQ(top[k].token, expected.token) << i;
          ASSERT_EQ(top[k].logprob, static_cast<float>(expected.logprob)) << i;
        }
      }
    }
    if (const auto* end = std::get_if<GenerationOutcome::Completed>(&seen[i].outcome->end)) {
      ++facts.completed;
      ASSERT_EQ(end->result.metrics.prompt_tokens, made.request.prompt.size());
      if (count < alone.tokens.size()) {
        ASSERT_GE(count, made.manner.stop_after) << i;  // several tokens may come at once
      } else if (count < made.manner.stop_after) {
        ASSERT_EQ(end->result.finish_reason, alone.reason) << i;
      }
    } else {
      ASSERT_TRUE(std::holds_alternative<GenerationOutcome::Cancelled>(seen[i].outcome->end))
          << i << ": " << std::get<GenerationOutcome::Failed>(seen[i].outcome->end).message;
      ++facts.cancelled;
      ASSERT_GE(count, std::min(made.manner.cancel_after, std::size_t{100})) << i;
    }
  }
}

}  // namespace hearth::stress
