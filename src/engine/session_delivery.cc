// Publication and reading: how tokens pass from the method to the consumer. The lifecycle is in session.cc.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/session.h"
#include "hearth/error.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

[[noreturn]] void ThrowPublicationError(const char* message) {
  throw Error(ErrorCode::kInternal, message);
}

// Raises a flag that was down, and lowers it again.
class Busy {
 public:
  Busy(bool& flag, ErrorCode code, const char* message) : flag_(flag) {
    if (flag_) {
      throw Error(code, message);
    }
    flag_ = true;
  }

  ~Busy() { flag_ = false; }

  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& flag_;
};

constexpr char kAwaitEach[] = "method must await each publication";

}  // namespace

awaitable<CommitAnswer> Session::Commit(std::span<const TokenId> token_ids, LogprobsView logprobs) {
  return PublishTokens(shared_from_this(), token_ids, logprobs);
}

awaitable<void> Session::Progress(double completed, std::optional<double> total) {
  return PublishProgress(shared_from_this(), completed, total);
}

void Session::CheckMayPublish() const {
  cancel_.ThrowIfCancelled();
  if (state_ != SessionState::kRunning) {
    ThrowPublicationError("publication outside method execution");
  }
}

// In the reference engine's order. Its last check, that each id is an integer in 0 .. 2^32-1, is the type TokenId here.
void Session::CheckCommit(std::span<const TokenId> token_ids, const LogprobsView& logprobs) const {
  if (stop_requested_) {
    ThrowPublicationError("method published after the consumer requested a stop");
  }
  if (token_ids.size() > output_limit_ - committed_tokens_) {
    ThrowPublicationError("method exceeded planned output limit");
  }
  if (!logprobs) {
    return;
  }
  if (logprobs->size() != token_ids.size()) {
    ThrowPublicationError("logprobs must align with committed tokens");
  }
  for (const std::optional<TokenLogprobs>& item : *logprobs) {
    if (item && item->top && item->top->size() > resources_.limits.max_top_logprobs) {
      ThrowPublicationError("top logprobs exceed session delivery capacity");
    }
  }
  if (control_.output == OutputMode::kCollect) {
    ThrowPublicationError("token logprobs require stream consumption");
  }
}

awaitable<CommitAnswer> Session::PublishTokens(
    std::shared_ptr<Session> self, std::span<const TokenId> token_ids, LogprobsView logprobs
) {
  const Busy publishing(self->publishing_, ErrorCode::kInternal, kAwaitEach);
  self->CheckMayPublish();
  self->CheckCommit(token_ids, logprobs);

  switch (self->control_.output) {
    case OutputMode::kCallback: {
      // Counted first: the callback may have shown them to somebody even when it fails.
      self->committed_tokens_ += token_ids.size();
      awaitable<bool> answering = self->control_.on_tokens(token_ids, logprobs);
      const bool go_on = co_await std::move(answering);
      if (self->state_ != SessionState::kRunning) {
        ThrowPublicationError("publication outside method execution");
      }
      self->stop_requested_ = !go_on;
      co_return go_on ? CommitAnswer::kContinue : CommitAnswer::kStop;
    }
    case OutputMode::kCollect:
      self->output_.insert(self->output_.end(), token_ids.begin(), token_ids.end());
      self->committed_tokens_ += token_ids.size();
      break;
    case OutputMode::kStream: {
      std::size_t offset = 0;
      while (offset < token_ids.size()) {
        const std::size_t count =
            std::min(token_ids.size() - offset, self->resources_.limits.max_queued_tokens);
        co_await self->WaitForRoom(count);
        CommittedTokens event;
        event.sequence = self->next_sequence_;
        const auto ids = token_ids.subspan(offset, count);
        event.token_ids.assign(ids.begin(), ids.end());
        if (logprobs) {
          const auto items = logprobs->subspan(offset, count);
          event.logprobs.emplace(items.begin(), items.end());
        }
        self->queue_.Push(std::move(event));
        ++self->next_sequence_;
        self->committed_tokens_ += count;
        offset += count;
        self->reader_wake_.NotifyAll();
      }
      break;
    }
  }
  co_return CommitAnswer::kContinue;
}

awaitable<void> Session::PublishProgress(
    std::shared_ptr<Session> self, double completed, std::optional<double> total
) {
  const Busy publishing(self->publishing_, ErrorCode::kInternal, kAwaitEach);
  self->CheckMayPublish();
  if (!std::isfinite(completed) || completed < 0 ||
      (total && (!std::isfinite(*total) || *total < completed))) {
    ThrowPublicationError("invalid progress");
  }
  if (self->control_.output != OutputMode::kStream) {
    co_return;
  }
  co_await self->WaitForRoom(0);
  self->queue_.Push(GenerationProgress{completed, total});
  self->reader_wake_.NotifyAll();
}

awaitable<void> Session::WaitForRoom(std::size_t tokens) {
  while (!queue_.HasRoom(tokens)) {
    ArmIdle();
    CheckMayPublish();  // arming may have failed, and cancelled
    co_await producer_wake_.Wait();
    CheckMayPublish();  // before arming again: no timer after the end
  }
}

awaitable<std::optional<GenerationEvent>> Session::ReadNext(std::shared_ptr<Session> self) {
  const Busy reading(
      self->reading_, ErrorCode::kInvalidArgument, "concurrent next() is not supported"
  );
  self->StopIdle();
  self->Start();
  while (self->queue_.events() == 0 && self->state_ != SessionState::kTerminal) {
    co_await self->reader_wake_.Wait();
  }
  std::optional<GenerationEvent> event = self->queue_.Pop();
  if (event) {
    self->producer_wake_.NotifyAll();
    if (self->state_ != SessionState::kTerminal) {
      self->ArmIdle();
    }
  }
  co_return event;
}

EventReader Session::TakeReader() {
  if (control_.output != OutputMode::kStream) {
    throw Error(ErrorCode::kInvalidArgument, "collect sessions return output through result");
  }
  if (reader_taken_) {
    throw Error(ErrorCode::kInvalidArgument, "generation events have one consumer");
  }
  reader_taken_ = true;
  return EventReader(shared_from_this());
}

awaitable<std::optional<GenerationEvent>> EventReader::Next() {
  return Session::ReadNext(session_);
}

awaitable<void> EventReader::Return() {
  return session_->Close();
}

namespace {

awaitable<void> CloseThenThrow(std::shared_ptr<Session> session, std::exception_ptr error) {
  co_await session->Close();
  std::rethrow_exception(error);
}

}  // namespace

awaitable<void> EventReader::Throw(std::exception_ptr error) {
  return CloseThenThrow(session_, std::move(error));
}

}  // namespace hearth
