#include "conformance/session_scenario.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>

#include "conformance/session_values.h"
#include "engine/cancellation.h"
#include "hearth/error.h"

namespace hearth::conformance {
namespace {

using boost::asio::awaitable;
using testing_support::Reply;

Json Ok(bool) {
  return {{"ok", true}};
}

Json Done(bool) {
  return {{"done", true}};
}

template <class T>
bool RejectIfWaiting(Reply<T>& reply) {
  const bool waiting = reply.waiting();
  if (waiting) {
    reply.Reject("drained");
  }
  return waiting;
}

}  // namespace

void StepTrace::Settle(const std::string& label, Json answer) {
  if (!happened_["settled"].emplace(label, std::move(answer)).second) {
    throw std::runtime_error(label + " settled twice");
  }
}

// The caller's own cancellation, which the session listens to.
class SessionScenario::External final : public Cancellation {
 public:
  explicit External(StepTrace& trace) : trace_(trace) {}

  std::optional<CancelReason> reason() const override { return source_.reason(); }

  Subscription Subscribe(std::function<void(CancelReason)> listener) override {
    trace_.Append("external", "subscribe");
    auto inner = std::make_shared<Subscription>(source_.Subscribe(std::move(listener)));
    return Subscription([this, inner] {
      trace_.Append("external", "unsubscribe");
      inner->Reset();
    });
  }

  void Cancel(CancelReason reason) { source_.Cancel(reason); }

 private:
  StepTrace& trace_;
  CancellationSource source_;
};

class SessionScenario::Run final : public MethodRun {
 public:
  explicit Run(SessionScenario& scenario) : scenario_(scenario) {}

  awaitable<MethodResult> Execute(GenerationOutput& output, Cancellation&) override {
    scenario_.trace_.Append("method", "execute");
    scenario_.output_ = &output;
    return scenario_.execute_.Wait();
  }

  awaitable<void> Close() override { return scenario_.CloseRun(); }

 private:
  SessionScenario& scenario_;
};

SessionScenario::SessionScenario(const Json& construct) : construct_(construct) {
  limits_.idle_timeout = std::chrono::milliseconds(construct_.at("idle_timeout_ms").get<int>());
  limits_.max_queued_events = construct_.at("max_queued_events");
  limits_.max_queued_tokens = construct_.at("max_queued_tokens");
  limits_.max_top_logprobs = construct_.at("max_top_logprobs");
  session_ = Session::Open(
      "scenario",
      [this](Cancellation& cancellation) { return Prepare(cancellation); },
      MakeControl(),
      MakeResources(),
      [this] {
        trace_.CountTerminal();
        ++terminals_;
      }
  );
  Await("result", session_->Result(), [this](const GenerationOutcome& outcome) {
    ++results_;
    return Json{{"outcome", OutcomeJson(outcome)}};
  });
}

RunControl SessionScenario::MakeControl() {
  RunControl control;
  control.output = ModeOf(construct_.at("output"));
  if (control.output == OutputMode::kCallback) {
    control.on_tokens = [this](std::span<const TokenId> ids, LogprobsView logprobs) {
      return OnTokens(ids, logprobs);
    };
  }
  if (construct_.contains("external")) {
    external_ = std::make_shared<External>(trace_);
    if (construct_.at("external").contains("reason")) {
      external_->Cancel(ReasonOf(construct_.at("external").at("reason")));
    }
    control.cancellation = external_;
  }
  return control;
}

SessionResources SessionScenario::MakeResources() {
  SessionResources resources;
  resources.executor = loop_.executor();
  resources.timer = &timer_;
  resources.limits = limits_;
  resources.reserve_output = [this](std::uint64_t tokens) { return ReserveOutput(tokens); };
  return resources;
}

awaitable<GenerationPlan> SessionScenario::Prepare(Cancellation& cancellation) {
  trace_.Append("method", "prepare");
  subscription_ = cancellation.Subscribe([this](CancelReason reason) {
    trace_.Append("method", "cancelled(" + std::string(CancelReasonName(reason)) + ")");
  });
  return prepare_.Wait();
}

awaitable<bool> SessionScenario::OnTokens(std::span<const TokenId> ids, LogprobsView logprobs) {
  Json call = {{"ids", std::vector<TokenId>(ids.begin(), ids.end())}};
  if (logprobs) {
    call["logprobs"] = LogprobsJson(*logprobs);
  }
  trace_.Append("tokens", std::move(call));
  return tokens_.Wait();
}

Owned<std::uint64_t> SessionScenario::ReserveOutput(std::uint64_t tokens) {
  const std::string call = "reserve(" + std::to_string(tokens) + ")";
  if (construct_.contains("reserve_error")) {
    const std::string error = construct_.at("reserve_error");
    trace_.Append("output", call + "!" + error);
    throw std::runtime_error(error);
  }
  trace_.Append("output", call);
  return {tokens, [this](std::uint64_t) { trace_.Append("output", "release"); }};
}

awaitable<std::unique_ptr<MethodRun>> SessionScenario::CreateRun(Cancellation&) {
  trace_.Append("method", "create_run");
  co_await create_run_.Wait();
  co_return std::make_unique<Run>(*this);
}

awaitable<void> SessionScenario::CloseRun() {
  trace_.Append("method", "close");
  if (construct_.value("close_mode", "") == "manual") {
    co_await close_.Wait();
  } else if (construct_.contains("close_error")) {
    throw std::runtime_error(construct_.at("close_error").get<std::string>());
  }
}

Json SessionScenario::Observe() {
  loop_.RunUntilIdle();
  CollectSettled();
  const bool rearmed = timer_.armed > std::exchange(armed_seen_, timer_.armed);
  Json seen = trace_.Take();
  seen["state"] = SessionStateName(session_->state());
  seen["timer"] = !timer_.live() ? "off" : rearmed ? "rearmed" : "armed";
  if (rearmed && timer_.last_delay != limits_.idle_timeout) {
    seen["timer"] = "wrong delay";
  }
  return seen;
}

std::string SessionScenario::Drain() {
  session_->Cancel();
  bool answered = true;
  while (answered) {
    loop_.RunUntilIdle();
    // The callback before the method, which would otherwise leave its commit pending.
    answered = RejectIfWaiting(tokens_) || RejectIfWaiting(prepare_) ||
               RejectIfWaiting(create_run_) || RejectIfWaiting(execute_) || RejectIfWaiting(close_);
  }
  CollectSettled();
  if (session_->state() != SessionState::kTerminal || results_ != 1 || terminals_ != 1) {
    return "after the end: " + std::to_string(results_) + " results, " +
           std::to_string(terminals_) + " calls of on_terminal";
  }
  if (timer_.live() || timer_.overlaps > 0) {
    return "after the end: a timer is live, or two were at once";
  }
  return unsettled_.empty() ? "" : "after the end: " + unsettled_.begin()->first + " is pending";
}

// Spawns the coroutine; when it has settled, its answer goes to the trace under this label.
template <class T, class ToJson>
void SessionScenario::Await(const std::string& label, awaitable<T> coroutine, ToJson to_json) {
  const auto settled = loop_.Spawn(std::move(coroutine));
  unsettled_[label] = [settled, to_json]() -> std::optional<Json> {
    if (settled->pending()) {
      return std::nullopt;
    }
    return settled->failed() ? Json{{"error", settled->error()}} : to_json(settled->value());
  };
}

void SessionScenario::CollectSettled() {
  for (auto it = unsettled_.begin(); it != unsettled_.end();) {
    std::optional<Json> answer = it->second();
    if (answer) {
      trace_.Settle(it->first, std::move(*answer));
      it = unsettled_.erase(it);
    } else {
      ++it;
    }
  }
}

void SessionScenario::TakeReader(const Json& step) {
  Json answer = {{"ok", true}};
  try {
    reader_.emplace(session_->TakeReader());
  } catch (const Error& error) {
    answer = {{"error", error.what()}};
  }
  trace_.Settle(step.at("id"), std::move(answer));
}

void SessionScenario::Next(const Json& step) {
  Await(step.at("id"), reader_.value().Next(), [](const std::optional<GenerationEvent>& event) {
    return event ? Json{{"event", EventJson(*event)}} : Json{{"done", true}};
  });
}

void SessionScenario::Cancel(const Json& step) {
  Await(
      step.at("id"),
      step.contains("reason") ? session_->CancelAndWait(ReasonOf(step.at("reason")))
                              : session_->CancelAndWait(),
      Ok
  );
}

void SessionScenario::Commit(const Json& step) {
  CommitArrays& arrays = commits_.emplace_back();
  arrays.ids = step.at("ids").get<std::vector<TokenId>>();
  LogprobsView view;
  if (step.contains("logprobs")) {
    arrays.logprobs = LogprobsOf(step.at("logprobs"));
    view = arrays.logprobs;
  }
  Await(step.at("id"), Output().Commit(arrays.ids, view), [](CommitAnswer answer) {
    return Json{{answer == CommitAnswer::kStop ? "stop" : "ok", true}};
  });
}

void SessionScenario::Progress(const Json& step) {
  std::optional<double> total;
  if (step.contains("total")) {
    total = NumberOf(step.at("total"));
  }
  Await(step.at("id"), Output().Progress(NumberOf(step.at("completed")), total), Ok);
}

void SessionScenario::Scribble() {
  CommitArrays& arrays = commits_.back();
  std::fill(arrays.ids.begin(), arrays.ids.end(), 0xffffffffU);
  for (std::optional<TokenLogprobs>& item : arrays.logprobs) {
    if (item) {
      item->logprob = -99.0F;
      if (item->top) {
        std::fill(item->top->begin(), item->top->end(), TopLogprob{0xffffffffU, -99.0F});
      }
    }
  }
}

GenerationOutput& SessionScenario::Output() {
  if (output_ == nullptr) {
    throw std::runtime_error("the script publishes before its method executes");
  }
  return *output_;
}

void SessionScenario::Apply(const Json& step) {
  const std::string op = step.at("op");
  const auto operation = Operations().find(op);
  if (operation == Operations().end()) {
    throw std::runtime_error("the suite has no operation " + op);
  }
  operation->second(*this, step);
}

const std::map<std::string, SessionScenario::Operation>& SessionScenario::Operations() {
  using S = SessionScenario;
  static const std::map<std::string, Operation> operations = {
      {"iter", &S::TakeReader},
      {"next", &S::Next},
      {"return",
       [](S& s, const Json& step) { s.Await(step.at("id"), s.reader_.value().Return(), Done); }},
      {"throw",
       [](S& s, const Json& step) {
         const std::runtime_error error(step.at("message").get<std::string>());
         s.Await(step.at("id"), s.reader_.value().Throw(std::make_exception_ptr(error)), Ok);
       }},
      {"cancel", &S::Cancel},
      {"close", [](S& s, const Json& step) { s.Await(step.at("id"), s.session_->Close(), Ok); }},
      {"external_cancel",
       [](S& s, const Json& step) { s.external_->Cancel(ReasonOf(step.at("reason"))); }},
      {"prepare_resolve",
       [](S& s, const Json& step) {
         // The method is the scenario itself, which outlives the plan.
         s.prepare_.Resolve(
             {"plan",
              step.at("limit").get<std::int64_t>(),
              std::shared_ptr<InferenceMethod>(std::shared_ptr<void>(), &s)}
         );
       }},
      {"prepare_reject", [](S& s, const Json& step) { s.prepare_.Reject(step.at("message")); }},
      {"create_run_resolve", [](S& s, const Json&) { s.create_run_.Resolve(true); }},
      {"create_run_reject",
       [](S& s, const Json& step) { s.create_run_.Reject(step.at("message")); }},
      {"execute_reject", [](S& s, const Json& step) { s.execute_.Reject(step.at("message")); }},
      {"commit", &S::Commit},
      {"progress", &S::Progress},
      {"scribble", [](S& s, const Json&) { s.Scribble(); }},
      {"finish",
       [](S& s, const Json& step) {
         const bool stop = step.at("reason") == "stop";
         s.execute_.Resolve({stop ? FinishReason::kStop : FinishReason::kLength, {}});
       }},
      {"run_close_resolve", [](S& s, const Json&) { s.close_.Resolve(true); }},
      {"run_close_reject", [](S& s, const Json& step) { s.close_.Reject(step.at("message")); }},
      {"tokens_return",
       [](S& s, const Json& step) { s.tokens_.Resolve(step.at("value") != false); }},
      {"tokens_throw", [](S& s, const Json& step) { s.tokens_.Reject(step.at("message")); }},
      {"fire_idle_timer", [](S& s, const Json&) { s.timer_.Fire(); }},
  };
  return operations;
}

}  // namespace hearth::conformance
