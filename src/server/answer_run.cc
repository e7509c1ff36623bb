#include "server/answer_run.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "hearth/awaitable.h"
#include "library/text_parts.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

// Frames that wait for a slow client. Past it the choices wait too, and then the engine's own bounds hold.
constexpr std::size_t kMostFrameBytes = std::size_t{1} << 20;
// How often a choice asks again for a place while others of its answer run.
constexpr std::chrono::milliseconds kAskAgain{20};

double Seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

AnswerRun::AnswerRun(
    Engine& engine,
    ServerMetrics& metrics,
    std::vector<ChoicePlan> plans,
    std::optional<api::StreamWriter> writer,
    std::size_t side_by_side
)
    : engine_(engine),
      server_metrics_(metrics),
      writer_(std::move(writer)),
      side_by_side_(std::max<std::size_t>(1, side_by_side)) {
  for (ChoicePlan& plan : plans) {
    auto choice = std::make_unique<Choice>(std::move(plan));
    if (choice->plan.echo) {
      choice->prompt = choice->plan.request.prompt;
    }
    if (choice->plan.scores_echo) {
      choice->scores =
          std::make_shared<std::vector<std::optional<TokenLogprobs>>>(choice->prompt.size());
      choice->plan.request.prompt_scores = [scores = choice->scores](
                                               std::size_t position, const TokenLogprobs& logprobs
                                           ) { (*scores)[position] = logprobs; };
    }
    choices_.push_back(std::move(choice));
  }
}

awaitable<void> AnswerRun::Pause(std::chrono::milliseconds time) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
  timer.expires_after(time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

awaitable<void> AnswerRun::OpenChoice(
    std::shared_ptr<AnswerRun> self, std::size_t index, bool waits
) {
  while (true) {
    bool full = false;
    try {
      awaitable<GenerationHandle> opening =
          Open(self->engine_, self->choices_[index]->plan.request, Delivery{});
      self->choices_[index]->handle = co_await std::move(opening);
      co_return;
    } catch (const Error& error) {
      // Another choice of this answer will make room.
      if (error.code() != ErrorCode::kOverloaded || !waits || self->running_ <= 1) {
        throw;
      }
      full = true;
    }
    if (full) {
      awaitable<void> pausing = Pause(kAskAgain);
      co_await std::move(pausing);
    }
  }
}

awaitable<void> AnswerRun::Start(std::shared_ptr<AnswerRun> self) {
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  self->wake_.emplace(executor);
  awaitable<void> opening = OpenChoice(self, 0, false);
  co_await std::move(opening);
  const std::size_t workers = std::min(self->side_by_side_, self->choices_.size());
  self->running_ = workers;
  for (std::size_t i = 0; i < workers; ++i) {
    boost::asio::co_spawn(executor, Work(self), [self](const std::exception_ptr& error) {
      --self->running_;
      if (error) {
        self->Fail(api::ErrorOf(error));
      }
    });
  }
}

awaitable<void> AnswerRun::Work(std::shared_ptr<AnswerRun> self) {
  while (self->next_ < self->choices_.size()) {
    const std::size_t index = self->next_++;
    std::exception_ptr failed;
    try {
      awaitable<void> running = RunChoice(self, index);
      co_await std::move(running);
    } catch (...) {
      failed = std::current_exception();
    }
    ++self->ended_;
    if (failed) {
      self->Fail(api::ErrorOf(failed));
    }
    self->Wake();
  }
}

awaitable<void> AnswerRun::RunChoice(std::shared_ptr<AnswerRun> self, std::size_t index) {
  Choice& choice = *self->choices_[index];
  if (self->abandoned_ || self->error_) {
    co_return;
  }
  if (!choice.handle) {
    awaitable<void> opening = OpenChoice(self, index, true);
    co_await std::move(opening);
    if (self->abandoned_ || self->error_) {
      choice.handle.Cancel(CancelReason::kConsumerClosed);
    }
  }
  if (self->writer_) {
    self->frames_ += self->writer_->Start(index);
    self->Wake();
  }
  while (!choice.text.stopped()) {
    while (self->frames_.size() > kMostFrameBytes && !self->abandoned_) {
      awaitable<void> pausing = Pause(kAskAgain);
      co_await std::move(pausing);
    }
    awaitable<std::optional<GenerationEvent>> reading = Next(choice.handle);
    const std::optional<GenerationEvent> event = co_await std::move(reading);
    if (!event) {
      break;
    }
    if (const auto* tokens = std::get_if<CommittedTokens>(&*event)) {
      self->Take(choice, index, *tokens);
    }
  }
  if (choice.text.stopped()) {
    choice.handle.Cancel();
  }
  awaitable<GenerationOutcome> ending = Result(choice.handle);
  const GenerationOutcome outcome = co_await std::move(ending);
  self->End(choice, index, outcome);
}

std::string_view AnswerRun::BytesOf(TokenId token) const {
  const Tokenizer& tokenizer = engine_.text().parts().tokenizer;
  return tokenizer.IsSpecial(token) ? std::string_view() : tokenizer.TokenBytes(token);
}

// The prompt as the beginning of the answer; its log probabilities are there once the answer's first token is.
void AnswerRun::Echo(Choice& choice, std::size_t index) {
  if (!choice.plan.echo || std::exchange(choice.echoed, true)) {
    return;
  }
  api::ChoiceDelta delta;
  for (std::size_t i = 0; i < choice.prompt.size(); ++i) {
    const TokenId token = choice.prompt[i];
    delta.Append(choice.text.Echo(
        token, BytesOf(token), choice.scores ? (*choice.scores)[i] : std::optional<TokenLogprobs>()
    ));
  }
  Add(choice, index, std::move(delta));
}

void AnswerRun::Take(Choice& choice, std::size_t index, const CommittedTokens& tokens) {
  Echo(choice, index);
  const Clock::time_point now = Clock::now();
  if (!choice.last_token) {
    server_metrics_.FirstToken(Seconds(now - asked_));
  } else {
    const auto count = static_cast<double>(tokens.token_ids.size());
    for (std::size_t i = 0; i < tokens.token_ids.size(); ++i) {
      server_metrics_.BetweenTokens(Seconds(now - *choice.last_token) / count);
    }
  }
  choice.last_token = now;
  api::ChoiceDelta delta;
  for (std::size_t i = 0; i < tokens.token_ids.size(); ++i) {
    const TokenId token = tokens.token_ids[i];
    delta.Append(choice.text.Push(
        token,
        BytesOf(token),
        tokens.logprobs ? (*tokens.logprobs)[i] : std::optional<TokenLogprobs>()
    ));
  }
  Add(choice, index, std::move(delta));
}

void AnswerRun::End(Choice& choice, std::size_t index, const GenerationOutcome& outcome) {
  FinishReason reason = FinishReason::kStop;
  std::string_view ended = "stop";
  if (const auto* completed = std::get_if<GenerationOutcome::Completed>(&outcome.end)) {
    choice.metrics = completed->result.metrics;
    reason = completed->result.finish_reason;
    ended = FinishReasonName(reason);
  } else {
    if (const auto* cancelled = std::get_if<GenerationOutcome::Cancelled>(&outcome.end)) {
      choice.metrics = cancelled->metrics;
    }
    if (!choice.text.stopped()) {
      ended = OutcomeStatusName(outcome);
      Fail(*api::ErrorOf(outcome));
    }
  }
  server_metrics_.Ended(choice.metrics, ended, Seconds(Clock::now() - asked_));
  if (error_ || abandoned_) {
    return;
  }
  Echo(choice, index);
  Add(choice, index, choice.text.Finish(reason));
  choice.answer.finish_reason = choice.text.finish_reason();
  if (writer_) {
    frames_ += writer_->Finish(index, choice.answer.finish_reason);
  }
}

void AnswerRun::Add(Choice& choice, std::size_t index, api::ChoiceDelta delta) {
  if (delta.empty() || error_ || abandoned_) {
    return;
  }
  if (writer_) {
    frames_ += writer_->Delta(index, delta);
    Wake();
  } else {
    choice.answer.text.Append(std::move(delta));
  }
}

void AnswerRun::Fail(api::ApiError error) {
  if (!error_ && !abandoned_) {
    error_ = std::move(error);
  }
  CancelChoices(CancelReason::kRequested);
}

void AnswerRun::Abandon() {
  abandoned_ = true;
  frames_.clear();
  CancelChoices(CancelReason::kConsumerClosed);
}

void AnswerRun::CancelChoices(CancelReason reason) {
  for (const auto& choice : choices_) {
    if (choice->handle) {
      choice->handle.Cancel(reason);
    }
  }
  Wake();
}

void AnswerRun::Wake() {
  if (wake_) {
    wake_->cancel();
  }
}

awaitable<std::string> AnswerRun::NextFrames(
    std::shared_ptr<AnswerRun> self, std::chrono::milliseconds patience
) {
  if (self->frames_.empty() && self->ended_ < self->choices_.size()) {
    self->wake_->expires_after(patience);
    boost::system::error_code ignored;
    co_await self->wake_->async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, ignored)
    );
  }
  co_return std::exchange(self->frames_, {});
}

awaitable<void> AnswerRun::WaitEnd(std::shared_ptr<AnswerRun> self) {
  while (self->ended_ < self->choices_.size()) {
    self->wake_->expires_after(std::chrono::hours(1));
    boost::system::error_code ignored;
    co_await self->wake_->async_wait(
        boost::asio::redirect_error(boost::asio::use_awaitable, ignored)
    );
  }
}

std::vector<api::ChoiceAnswer> AnswerRun::answers() const {
  std::vector<api::ChoiceAnswer> answers;
  for (const auto& choice : choices_) {
    answers.push_back(choice->answer);
  }
  return answers;
}

api::UsageCounts AnswerRun::usage(std::size_t choices_a_prompt) const {
  api::UsageCounts usage;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = *choices_[i];
    if (i % choices_a_prompt == 0) {
      usage.prompt_tokens += choice.plan.request.prompt.size();
      usage.cached_tokens += choice.metrics.cached_prompt_tokens;
    }
    usage.completion_tokens += choice.text.completion_tokens();
    usage.reasoning_tokens += choice.text.reasoning_tokens();
  }
  return usage;
}

std::vector<GenerationMetrics> AnswerRun::metrics() const {
  std::vector<GenerationMetrics> metrics;
  for (const auto& choice : choices_) {
    metrics.push_back(choice->metrics);
  }
  return metrics;
}

}  // namespace hearth
