#include "engine/row_method.h"

#include <utility>
#include <variant>

#include "hearth/error.h"

namespace hearth {
namespace {

using boost::asio::awaitable;

std::optional<TokenLogprobs> ToLogprobs(const SampledToken& token) {
  if (!token.logprob) {
    return std::nullopt;
  }
  TokenLogprobs logprobs;
  logprobs.logprob = static_cast<float>(*token.logprob);
  logprobs.top.emplace();
  for (const TokenLogprob& other : token.top_logprobs) {
    logprobs.top->push_back({other.token, static_cast<float>(other.logprob)});
  }
  return logprobs;
}

class RowRun final : public MethodRun {
 public:
  RowRun(ContinuousGroup& group, GenerationRequest request, AutoregressiveRow row)
      : group_(group), request_(std::move(request)), waiting_(std::move(row)) {}

  awaitable<MethodResult> Execute(GenerationOutput& output, Cancellation& cancellation) override {
    const bool logprobs = request_.sampling.top_logprobs.has_value();
    const std::size_t prompt = request_.prompt.size();
    row_ = group_.Submit(std::move(request_), *std::move(waiting_));
    waiting_.reset();
    leave_on_cancel_ = cancellation.Subscribe([row = row_](CancelReason) { row->Leave(); });
    while (true) {
      awaitable<RowDelivery> waiting = row_->Next();
      const RowDelivery delivery = co_await std::move(waiting);
      bool stop = false;
      std::exception_ptr refused;
      try {
        awaitable<CommitAnswer> publishing = Publish(output, delivery, prompt, logprobs);
        stop = co_await std::move(publishing) == CommitAnswer::kStop;
      } catch (...) {
        refused = std::current_exception();
      }
      if (refused && !cancellation.reason()) {
        std::rethrow_exception(refused);
      }
      if (stop || cancellation.reason()) {
        // What was done is known when the row has gone. The session makes a cancellation of it where there is one.
        row_->Leave();
        awaitable<void> leaving = row_->Gone();
        co_await std::move(leaving);
        co_return MethodResult{FinishReason::kStop, row_->metrics()};
      }
      if (delivery.end) {
        if (const auto* error = std::get_if<std::exception_ptr>(&*delivery.end)) {
          std::rethrow_exception(*error);
        }
        if (const auto* reason = std::get_if<FinishReason>(&*delivery.end)) {
          co_return MethodResult{*reason, row_->metrics()};
        }
        throw Error(ErrorCode::kInternal, "engine: a row was left by nobody");
      }
    }
  }

  awaitable<void> Close() override {
    leave_on_cancel_.Reset();
    if (row_ != nullptr) {
      row_->Leave();
      awaitable<void> leaving = row_->Gone();
      co_await std::move(leaving);
    }
  }

 private:
  static awaitable<CommitAnswer> Publish(
      GenerationOutput& output, const RowDelivery& delivery, std::size_t prompt, bool logprobs
  ) {
    if (delivery.prompt_done && *delivery.prompt_done < prompt) {
      awaitable<void> showing =
          output.Progress(static_cast<double>(*delivery.prompt_done), static_cast<double>(prompt));
      co_await std::move(showing);
    }
    if (delivery.tokens.empty()) {
      co_return CommitAnswer::kContinue;
    }
    std::vector<TokenId> ids;
    std::vector<std::optional<TokenLogprobs>> items;
    for (const SampledToken& token : delivery.tokens) {
      ids.push_back(token.token);
      if (logprobs) {
        items.push_back(ToLogprobs(token));
      }
    }
    LogprobsView view;
    if (logprobs) {
      view.emplace(items);
    }
    awaitable<CommitAnswer> committing = output.Commit(ids, view);
    co_return co_await std::move(committing);
  }

  ContinuousGroup& group_;
  GenerationRequest request_;
  std::optional<AutoregressiveRow> waiting_;  // until it is executed
  std::shared_ptr<BatchRow> row_;
  Subscription leave_on_cancel_;
};

class RowMethod final : public InferenceMethod {
 public:
  RowMethod(ContinuousGroup& group, GenerationRequest request, AutoregressiveRow row)
      : group_(group), request_(std::move(request)), row_(std::move(row)) {}

  awaitable<std::unique_ptr<MethodRun>> CreateRun(Cancellation&) override {
    co_return std::make_unique<RowRun>(group_, std::move(request_), std::move(row_));
  }

 private:
  ContinuousGroup& group_;
  GenerationRequest request_;
  AutoregressiveRow row_;
};

}  // namespace

std::shared_ptr<InferenceMethod> MakeRowMethod(
    ContinuousGroup& group, GenerationRequest request, AutoregressiveRow row
) {
  return std::make_shared<RowMethod>(group, std::move(request), std::move(row));
}

}  // namespace hearth
