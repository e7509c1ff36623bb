#include "engine/inference_engine.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/execution_group.h"
#include "engine/execution_plan.h"
#include "engine/loop_timer.h"
#include "engine/memory.h"
#include "engine/output_reservations.h"
#include "engine/prompt_cache.h"
#include "engine/row_method.h"
#include "engine/scheduler.h"
#include "hearth/error.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

// What the engine can do, as the plan sees it. Its group runs every ordinary request as a row.
ExecutionCapabilities Capabilities() {
  ExecutionCapabilities capabilities;
  capabilities.method = ExecutionMethod::kAutoregressive;
  capabilities.continuous = true;
  capabilities.seeded_rows = true;
  capabilities.logprob_rows = true;
  capabilities.paged_batch = true;
  capabilities.paged_prompt_cache = true;
  return capabilities;
}

ExecutionFeatures Features() {
  ExecutionFeatures features;
  features.paged_kv = true;
  return features;
}

ExecutionRequirements RequirementsOf(const GenerationRequest& request) {
  const SamplingParameters& sampling = request.sampling;
  ExecutionRequirements requirements;
  requirements.has_repetition_penalty = sampling.repetition_penalty != 1;
  requirements.user_seed = sampling.seed.has_value();
  requirements.has_logits_extras = sampling.min_p > 0 || sampling.presence_penalty != 0 ||
                                   sampling.frequency_penalty != 0 ||
                                   !sampling.logit_bias.empty() || sampling.xtc_probability > 0;
  requirements.wants_logprobs = sampling.top_logprobs.has_value();
  return requirements;
}

awaitable<GenerationPlan> PlanOf(
    std::string id, std::int64_t limit, std::shared_ptr<InferenceMethod> method
) {
  co_return GenerationPlan{std::move(id), limit, std::move(method)};
}

void CheckLimits(const EngineLimits& limits) {
  const std::pair<const char*, std::size_t> least_one[] = {
      {"batch", limits.batch},
      {"step_tokens", limits.step_tokens},
      {"prefill_tokens", limits.prefill_tokens},
      {"pages", limits.pages},
  };
  for (const auto& [name, value] : least_one) {
    if (value == 0) {
      throw Error(
          ErrorCode::kInvalidArgument,
          std::string("engine limits: ") + name + " is 0, wanted at least 1"
      );
    }
  }
  ValidateSessionLimits(limits.session);
}

}  // namespace

class InferenceEngine::State {
 public:
  State(EngineParts parts, const EngineLimits& limits)
      : parts_(std::move(parts)),
        limits_(limits),
        reservations_(limits.collected_tokens),
        pool_(parts_.model->facts().kv, limits.pages),
        cache_(pool_, {.enabled = limits.prompt_cache, .pages = limits.pages}, gauges_),
        group_(
            {{parts_.model, parts_.team, parts_.kernels, parts_.vocabulary.size},
             parts_.steps,
             &pool_,
             &cache_,
             &gauges_},
            {limits.batch,
             limits.batch + limits.queue,
             limits.step_tokens,
             limits.prefill_tokens,
             limits.prompt_cache}
        ) {}

  std::shared_ptr<Session> Open(GenerationRequest request, RunControl control);
  awaitable<void> Close();
  void StartDriver();

  const EngineGauges& gauges() const { return gauges_; }

  const EngineLimits& limits() const { return limits_; }

 private:
  CacheSize Cache() const {
    return {parts_.model->facts().context_length, kPageTokens, limits_.pages};
  }

  void CheckRequest(const GenerationRequest& request, const RunControl& control) const;
  void Report(const std::exception_ptr& error) const;

  EngineParts parts_;
  EngineLimits limits_;
  EngineGauges gauges_;
  OutputReservations reservations_;
  PagePool pool_;
  PromptCache cache_;
  ContinuousGroup group_;
  LoopClock clock_;
  std::map<std::string, std::shared_ptr<Session>> sessions_;  // those that are not terminal
  std::uint64_t opened_ = 0;
  bool closing_ = false;
  bool driver_ended_ = false;
  bool closed_ = false;
  Condition ended_;
};

void InferenceEngine::State::Report(const std::exception_ptr& error) const {
  if (parts_.report) {
    parts_.report(error);
  }
}

void InferenceEngine::State::StartDriver() {
  boost::asio::co_spawn(
      parts_.executor,
      DriveExecutionGroup(group_, clock_, {.yield_after_preparation = true}),
      [this](const std::exception_ptr& error) {
        if (error) {
          Report(error);
        }
        driver_ended_ = true;
        ended_.NotifyAll();
      }
  );
}

void InferenceEngine::State::CheckRequest(
    const GenerationRequest& request, const RunControl& control
) const {
  Validate(request.sampling);
  const std::size_t vocabulary = parts_.model->facts().vocabulary;
  for (const std::vector<TokenId>* tokens : {&request.prompt, &request.stop_tokens}) {
    for (const TokenId token : *tokens) {
      if (token >= vocabulary) {
        throw Error(
            ErrorCode::kInvalidArgument,
            (tokens == &request.prompt ? "prompt: token " : "stop_tokens: token ") +
                std::to_string(token) + " is outside the vocabulary of " +
                std::to_string(vocabulary)
        );
      }
    }
  }
  RequireRoom(request.prompt.size(), request.max_tokens, Cache());
  if (request.sampling.top_logprobs && control.output == OutputMode::kCollect) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "logprobs: a collecting session has no place for them, wanted a stream or a callback"
    );
  }
}

std::shared_ptr<Session> InferenceEngine::State::Open(
    GenerationRequest request, RunControl control
) {
  if (closing_ || driver_ended_) {
    throw Error(ErrorCode::kCancelled, "engine: closed");
  }
  // Before anything is looked at or made: a refusal must cost a crowd of clients less than an answer.
  if (sessions_.size() >= limits_.batch + limits_.queue) {
    throw Error(
        ErrorCode::kOverloaded,
        "engine: " + std::to_string(sessions_.size()) + " requests are open, wanted fewer than " +
            std::to_string(limits_.batch + limits_.queue)
    );
  }
  CheckRequest(request, control);
  const ResolvedExecution plan =
      ResolveExecution(RequirementsOf(request), Capabilities(), Features());
  if (plan.mechanism != ExecutionMechanism::kContinuous) {
    std::string reasons;
    for (const std::string_view text : plan.reasons.Texts()) {
      reasons += reasons.empty() ? "" : ", ";
      reasons += text;
    }
    throw Error(
        ErrorCode::kUnsupported, "engine: this request cannot run in the batch: " + reasons
    );
  }
  request.use_cache = request.use_cache && plan.prompt_cache;
  AutoregressiveRow row(
      request.prompt,
      {static_cast<std::size_t>(request.max_tokens), request.stop_tokens},
      Sampler(request.sampling, request.seed, parts_.vocabulary, *parts_.kernels),
      Cache().Context()
  );
  const std::string id = "generation-" + std::to_string(++opened_);
  const auto limit = static_cast<std::int64_t>(row.most_generated());
  const std::shared_ptr<InferenceMethod> method =
      MakeRowMethod(group_, std::move(request), std::move(row));
  SessionResources resources;
  resources.executor = parts_.executor;
  resources.timer = parts_.timer;
  resources.limits = limits_.session;
  resources.reserve_output = [this](std::uint64_t tokens) { return reservations_.Reserve(tokens); };
  resources.report = parts_.report;
  const auto prepare = [id, limit, method](Cancellation&) -> awaitable<GenerationPlan> {
    return PlanOf(id, limit, method);
  };
  const auto forget = [this, id] {
    sessions_.erase(id);
    gauges_.sessions = sessions_.size();
    ended_.NotifyAll();
  };
  // Entered first: a session may be terminal before Open returns.
  sessions_[id] = nullptr;
  std::shared_ptr<Session> session;
  try {
    session = Session::Open(id, prepare, std::move(control), std::move(resources), forget);
  } catch (...) {
    sessions_.erase(id);
    throw;
  }
  if (const auto found = sessions_.find(id); found != sessions_.end()) {
    found->second = session;
  }
  gauges_.sessions = sessions_.size();
  return session;
}

awaitable<void> InferenceEngine::State::Close() {
  if (!closing_) {
    closing_ = true;
    std::vector<std::shared_ptr<Session>> open;
    for (const auto& [id, session] : sessions_) {
      open.push_back(session);
    }
    for (const std::shared_ptr<Session>& session : open) {
      session->Cancel(CancelReason::kEngineClosed);
    }
    while (!sessions_.empty()) {
      co_await ended_.Wait();
    }
    group_.Close();
    while (!driver_ended_) {
      co_await ended_.Wait();
    }
    cache_.Clear();
    gauges_.pages_used = pool_.used();
    closed_ = true;
    ended_.NotifyAll();
  }
  while (!closed_) {
    co_await ended_.Wait();
  }
}

InferenceEngine::InferenceEngine(EngineParts parts, const EngineLimits& limits) {
  CheckLimits(limits);
  state_ = std::make_unique<State>(std::move(parts), limits);
  state_->StartDriver();
}

InferenceEngine::~InferenceEngine() = default;

std::shared_ptr<Session> InferenceEngine::Open(GenerationRequest request, RunControl control) {
  return state_->Open(std::move(request), std::move(control));
}

awaitable<void> InferenceEngine::Close() {
  return state_->Close();
}

const EngineGauges& InferenceEngine::gauges() const {
  return state_->gauges();
}

const EngineLimits& InferenceEngine::limits() const {
  return state_->limits();
}

}  // namespace hearth
