// A session over a method whose answers the test gives.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "contracts/aggregate_error.h"
#include "contracts/method.h"
#include "engine/session.h"
#include "hearth/generation.h"
#include "support/manual_loop.h"

namespace hearth::testing_support {

using boost::asio::awaitable;

// Like the script of the conformance suite, for hand-made situations: the members are the knobs, set before Open.
class SessionFixture : public testing::Test, public InferenceMethod {
 public:
  class Run final : public MethodRun {
   public:
    explicit Run(SessionFixture& test) : test_(test) {}

    awaitable<MethodResult> Execute(GenerationOutput& output, Cancellation&) override {
      test_.output = &output;
      return test_.produce != nullptr ? test_.produce(&output) : test_.execute.Wait();
    }

    awaitable<void> Close() override {
      if (!test_.close_error.empty()) {
        throw std::runtime_error(test_.close_error);
      }
      co_return;
    }

   private:
    SessionFixture& test_;
  };

  awaitable<std::unique_ptr<MethodRun>> CreateRun(Cancellation&) override {
    co_return has_run ? std::make_unique<Run>(*this) : nullptr;
  }

  awaitable<GenerationPlan> MakePlan() {
    co_return GenerationPlan{
        "plan",
        limit,
        has_method ? std::shared_ptr<InferenceMethod>(std::shared_ptr<void>(), this) : nullptr
    };
  }

  SessionFixture() {
    resources.executor = loop.executor();
    resources.timer = &timer;
    resources.reserve_output = [this](std::uint64_t wanted) {
      return Owned<std::uint64_t>(wanted, [this](std::uint64_t) {
        ++released;
        if (!release_error.empty()) {
          throw std::runtime_error(release_error);
        }
      });
    };
    resources.report = [this](const std::exception_ptr& error) {
      reported.push_back(DescribeError(error));
    };
    prepare = [this](Cancellation&) { return MakePlan(); };
    on_terminal = [this] { ++terminals; };
  }

  // Ends what a test left running, so that no coroutine is left behind.
  void TearDown() override {
    if (session != nullptr) {
      session->Cancel();
      loop.RunUntilIdle();
      for (const auto reject : {&SessionFixture::RejectTokens, &SessionFixture::RejectExecute}) {
        (this->*reject)();
        loop.RunUntilIdle();
      }
      EXPECT_EQ(session->state(), SessionState::kTerminal);
      EXPECT_FALSE(timer.live());
      EXPECT_EQ(timer.overlaps, 0U);
    }
  }

  void RejectTokens() {
    if (tokens.waiting()) {
      tokens.Reject("over");
    }
  }

  void RejectExecute() {
    if (execute.waiting()) {
      execute.Reject("over");
    }
  }

  void Open(OutputMode mode) {
    control.output = mode;
    if (mode == OutputMode::kCallback) {
      control.on_tokens = [this](std::span<const TokenId>, LogprobsView) { return tokens.Wait(); };
    }
    session = Session::Open("id", prepare, control, resources, on_terminal);
    result = loop.Spawn(session->Result());
  }

  void TakeReader() { reader = std::make_unique<EventReader>(session->TakeReader()); }

  auto Next() { return loop.Spawn(reader->Next()); }

  // A stream whose method executes; no Next is pending and nothing is queued.
  void OpenRunningStream() {
    Open(OutputMode::kStream);
    TakeReader();
    const auto first = Next();
    loop.RunUntilIdle();
    const auto progress = loop.Spawn(output->Progress(0));
    loop.RunUntilIdle();
    ASSERT_FALSE(first->pending());
    ASSERT_EQ(session->state(), SessionState::kRunning);
  }

  // Commits without waiting for the answer; the ids stay where they are until the test ends.
  auto Commit(std::vector<TokenId> ids) {
    committed.push_back(std::make_unique<std::vector<TokenId>>(std::move(ids)));
    return loop.Spawn(output->Commit(*committed.back()));
  }

  // The event that a Next has answered with. Throws when it has not, or when it was done.
  static const GenerationEvent& EventOf(const Settled<std::optional<GenerationEvent>>& next) {
    if (const std::optional<GenerationEvent>& event = next.value()) {
      return *event;
    }
    throw std::logic_error("no event");
  }

  // The failed outcome as "code: message (cleanup_error)", another one as its status.
  std::string Outcome() {
    loop.RunUntilIdle();
    if (result->pending()) {
      return "pending";
    }
    const auto* failed = std::get_if<GenerationOutcome::Failed>(&result->value().end);
    if (failed == nullptr) {
      return std::string(OutcomeStatusName(result->value()));
    }
    std::string text = std::string(FailureCodeName(failed->code)) + ": " + failed->message;
    return failed->cleanup_error ? text + " (" + *failed->cleanup_error + ")" : text;
  }

  ManualLoop loop;
  ManualTimer timer;
  Reply<MethodResult> execute;
  awaitable<MethodResult> (*produce)(GenerationOutput*) =
      nullptr;  // instead of waiting for `execute`
  Reply<bool> tokens;
  GenerationOutput* output = nullptr;
  std::vector<std::unique_ptr<std::vector<TokenId>>> committed;
  std::int64_t limit = 100;
  bool has_method = true;
  bool has_run = true;
  std::string close_error;
  std::string release_error;
  int released = 0;
  int terminals = 0;
  std::vector<std::string> reported;
  PreparePlan prepare;
  RunControl control;
  SessionResources resources;
  std::function<void()> on_terminal;
  std::shared_ptr<Session> session;
  std::unique_ptr<EventReader> reader;
  std::shared_ptr<Settled<GenerationOutcome>> result;
};

}  // namespace hearth::testing_support
