// One answer while it is generated: its choices run in the engine side by side, and their text comes together here.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hearth/engine.h"
#include "server/api/api_error.h"
#include "server/api/choice_text.h"
#include "server/api/response_body.h"
#include "server/api/stream_writer.h"
#include "server/server_metrics.h"

namespace hearth {

// A choice of an answer before it runs.
struct ChoicePlan {
  GenerationRequest request;
  api::ChoiceTextOptions text;
  bool echo = false;         // the answer begins with the prompt
  bool scores_echo = false;  // with its log probabilities
};

// Life:    shared by the handler and by the coroutines that read the choices; ends with the last of them.
// Threads: one executor that runs one handler at a time (the connection's). The engine hands events over to it.
// Errors:  the answer's error is a value (error()); the first one cancels the other choices.
class AnswerRun : public std::enable_shared_from_this<AnswerRun> {
 public:
  // With a writer the text becomes frames of a stream, else it is kept for the body. At most `side_by_side` choices run at
  // a time.
  AnswerRun(
      Engine& engine,
      ServerMetrics& metrics,
      std::vector<ChoicePlan> plans,
      std::optional<api::StreamWriter> writer,
      std::size_t side_by_side
  );

  // Opens the first choice, so that what cannot run is refused while the answer has not begun; then all start.
  // Errors: those of Engine::Open.
  static boost::asio::awaitable<void> Start(std::shared_ptr<AnswerRun> self);

  // Waits for frames or the end, at most `patience`. Returns the frames that there are; empty after the end, or when
  // there was nothing to say.
  static boost::asio::awaitable<std::string> NextFrames(
      std::shared_ptr<AnswerRun> self, std::chrono::milliseconds patience
  );

  // Every choice has ended and its frames were taken.
  bool done() const { return ended_ == choices_.size() && frames_.empty(); }

  static boost::asio::awaitable<void> WaitEnd(std::shared_ptr<AnswerRun> self);

  // Nobody wants the answer any more: every choice is cancelled.
  void Abandon();

  bool abandoned() const { return abandoned_; }

  const std::optional<api::ApiError>& error() const { return error_; }

  // After the end.
  std::vector<api::ChoiceAnswer> answers() const;
  api::UsageCounts usage(std::size_t choices_a_prompt) const;
  std::vector<GenerationMetrics> metrics() const;

 private:
  using Clock = std::chrono::steady_clock;

  struct Choice {
    explicit Choice(ChoicePlan made) : plan(std::move(made)), text(plan.text) {}

    ChoicePlan plan;
    api::ChoiceText text;
    std::vector<TokenId> prompt{};  // of an echo
    // Written on the engine's thread before the events that are read here.
    std::shared_ptr<std::vector<std::optional<TokenLogprobs>>> scores{};
    GenerationHandle handle{};
    api::ChoiceAnswer answer{};
    GenerationMetrics metrics{};
    bool echoed = false;
    std::optional<Clock::time_point> last_token{};
  };

  static boost::asio::awaitable<void> Work(std::shared_ptr<AnswerRun> self);
  static boost::asio::awaitable<void> RunChoice(std::shared_ptr<AnswerRun> self, std::size_t index);
  static boost::asio::awaitable<void> OpenChoice(
      std::shared_ptr<AnswerRun> self, std::size_t index, bool waits
  );
  static boost::asio::awaitable<void> Pause(std::chrono::milliseconds time);
  void Echo(Choice& choice, std::size_t index);
  void Take(Choice& choice, std::size_t index, const CommittedTokens& tokens);
  void End(Choice& choice, std::size_t index, const GenerationOutcome& outcome);
  void Add(Choice& choice, std::size_t index, api::ChoiceDelta delta);
  void Fail(api::ApiError error);
  void CancelChoices(CancelReason reason);
  void Wake();
  std::string_view BytesOf(TokenId token) const;

  Engine& engine_;
  ServerMetrics& server_metrics_;
  std::vector<std::unique_ptr<Choice>> choices_;
  std::optional<api::StreamWriter> writer_;
  std::size_t side_by_side_;
  std::size_t next_ = 0;  // choice that has not been taken up
  std::size_t ended_ = 0;
  std::size_t running_ = 0;
  std::string frames_;
  bool abandoned_ = false;
  std::optional<api::ApiError> error_;
  std::optional<boost::asio::steady_timer> wake_;
  Clock::time_point asked_ = Clock::now();
};

}  // namespace hearth
