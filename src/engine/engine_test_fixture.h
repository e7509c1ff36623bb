// An engine on a loop that the test holds in its hand, with a model that counts.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_test_model.h"
#include "engine/inference_engine.h"
#include "hearth/error.h"
#include "support/manual_loop.h"

namespace hearth {

// Timers that fire when the test says so.
class TestTimer final : public Timer {
 public:
  std::function<void()> After(std::chrono::milliseconds, std::function<void()> callback) override {
    const std::size_t id = next_++;
    live_[id] = std::move(callback);
    return [this, id] { live_.erase(id); };
  }

  void FireAll() {
    for (auto& [id, callback] : std::exchange(live_, {})) {
      callback();
    }
  }

  std::size_t live() const { return live_.size(); }

 private:
  std::map<std::size_t, std::function<void()>> live_;
  std::size_t next_ = 0;
};

inline std::vector<TokenId> Count(TokenId from, std::size_t count) {
  std::vector<TokenId> tokens(count);
  std::iota(tokens.begin(), tokens.end(), from);
  return tokens;
}

class EngineFixture : public ::testing::Test {
 protected:
  EngineFixture() : team_(1), kernels_(SamplingKernelsFor(AttainableIsas().back())) {
    limits_.pages = 100;
  }

  ~EngineFixture() override {
    if (engine_) {
      const auto closed = loop_.Spawn(engine_->Close());
      loop_.RunUntilIdle();
      EXPECT_FALSE(closed->pending());
      EXPECT_EQ(engine_->gauges().pages_used, 0u);
      EXPECT_EQ(engine_->gauges().leases, 0u);
      EXPECT_EQ(engine_->gauges().sessions, 0u);
    }
  }

  InferenceEngine& engine() {
    if (!engine_) {
      EngineParts parts;
      parts.executor = loop_.executor();
      parts.timer = &timer_;
      parts.steps = &steps_;
      parts.model = &model_;
      parts.team = &team_;
      parts.kernels = &kernels_;
      parts.vocabulary = {.size = CountingModel::kVocabulary};
      engine_ = std::make_unique<InferenceEngine>(parts, limits_);
    }
    return *engine_;
  }

  std::shared_ptr<Session> Collect(std::vector<TokenId> prompt, std::uint64_t max_tokens) {
    GenerationRequest request;
    request.prompt = std::move(prompt);
    request.max_tokens = max_tokens;
    RunControl control;
    control.output = OutputMode::kCollect;
    return engine().Open(std::move(request), std::move(control));
  }

  std::shared_ptr<Session> Stream(GenerationRequest request) {
    return engine().Open(std::move(request), {});
  }

  GenerationOutcome OutcomeOf(const std::shared_ptr<Session>& session) {
    const auto result = loop_.Spawn(session->Result());
    loop_.RunUntilIdle();
    EXPECT_FALSE(result->pending());
    return result->value();
  }

  // Reads one event; nothing when it does not come.
  std::optional<GenerationEvent> Read(EventReader& reader) {
    const auto next = loop_.Spawn(reader.Next());
    loop_.RunUntilIdle();
    return next->pending() ? std::nullopt : next->value();
  }

  static void ExpectRefused(
      ErrorCode code, const std::string& words, const std::function<void()>& open
  ) {
    try {
      open();
      FAIL() << "opened";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  testing_support::ManualLoop loop_;
  TestTimer timer_;
  InlineStepRunner steps_;
  CountingModel model_{1000};
  WorkerTeam team_;
  SamplingKernels kernels_;
  EngineLimits limits_;
  std::unique_ptr<InferenceEngine> engine_;
};

}  // namespace hearth
