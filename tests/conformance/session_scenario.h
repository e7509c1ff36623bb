// One scenario of session/*.jsonl: a session, everything that it is given, and the operations of the script. Every
// answer that the session asks for stays pending until a step gives it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/entries.h"
#include "contracts/method.h"
#include "engine/session.h"
#include "hearth/generation.h"
#include "support/manual_loop.h"

namespace hearth::conformance {

// What happened in one step, in the suite's words; kinds of which nothing happened are left out.
class StepTrace {
 public:
  void Append(const char* kind, Json value) { happened_[kind].push_back(std::move(value)); }

  void CountTerminal() { happened_["terminal"] = happened_.value("terminal", 0) + 1; }

  void Settle(const std::string& label, Json answer);

  Json Take() { return std::exchange(happened_, Json::object()); }

 private:
  Json happened_ = Json::object();
};

class SessionScenario final : public InferenceMethod {
 public:
  // Opens the session as the first step says.
  explicit SessionScenario(const Json& construct);

  SessionScenario(const SessionScenario&) = delete;
  SessionScenario& operator=(const SessionScenario&) = delete;

  // Begins one further step. Errors: std::runtime_error for an operation that the suite does not have.
  void Apply(const Json& step);

  // Runs the loop until nothing moves, then says what the step's "expect" should say.
  Json Observe();

  // Ends what the script left open, by cancelling and answering everything. Says what is wrong then: empty when there
  // was exactly one result and one on_terminal, nothing is pending and no timer is live.
  std::string Drain();

 private:
  class Run;
  class External;

  // The arrays of one commit, kept until the end: they are read until the commit has settled.
  struct CommitArrays {
    std::vector<TokenId> ids;
    std::vector<std::optional<TokenLogprobs>> logprobs;
  };

  using Operation = std::function<void(SessionScenario&, const Json&)>;

  RunControl MakeControl();
  SessionResources MakeResources();
  boost::asio::awaitable<GenerationPlan> Prepare(Cancellation& cancellation);
  boost::asio::awaitable<bool> OnTokens(std::span<const TokenId> ids, LogprobsView logprobs);
  Owned<std::uint64_t> ReserveOutput(std::uint64_t tokens);
  boost::asio::awaitable<std::unique_ptr<MethodRun>> CreateRun(Cancellation& cancellation) override;
  boost::asio::awaitable<void> CloseRun();

  template <class T, class ToJson>
  void Await(const std::string& label, boost::asio::awaitable<T> coroutine, ToJson to_json);
  void CollectSettled();

  void TakeReader(const Json& step);
  void Next(const Json& step);
  void Cancel(const Json& step);
  void Commit(const Json& step);
  void Progress(const Json& step);
  void Scribble();
  GenerationOutput& Output();
  static const std::map<std::string, Operation>& Operations();

  Json construct_;
  StepTrace trace_;
  testing_support::ManualLoop loop_;
  testing_support::ManualTimer timer_;
  std::size_t armed_seen_ = 0;
  SessionLimits limits_;
  testing_support::Reply<GenerationPlan> prepare_;
  testing_support::Reply<bool> create_run_;
  testing_support::Reply<MethodResult> execute_;
  testing_support::Reply<bool> close_;
  testing_support::Reply<bool> tokens_;
  std::list<CommitArrays> commits_;
  std::shared_ptr<External> external_;
  Subscription subscription_;  // of the preparation
  std::shared_ptr<Session> session_;
  std::optional<EventReader> reader_;
  GenerationOutput* output_ = nullptr;
  // By label: what has not settled yet; asked after each step.
  std::map<std::string, std::function<std::optional<Json>()>> unsettled_;
  int results_ = 0;
  int terminals_ = 0;
};

}  // namespace hearth::conformance
