#include "server/api/stream_writer.h"

#include <utility>

#include "server/api/sse.h"

namespace hearth::api {

StreamWriter::StreamWriter(AnswerHead head, bool include_usage, TokenBytes bytes_of)
    : head_(std::move(head)), include_usage_(include_usage), bytes_of_(std::move(bytes_of)) {
}

std::string StreamWriter::Frame(Json chunk) const {
  if (include_usage_ && !chunk.contains("usage")) {
    chunk["usage"] = nullptr;
  }
  return SseEvent(DumpJson(chunk));
}

// A completion has its text where chat has a delta.
Json StreamWriter::TextDelta(std::string_view field, const std::string& text) const {
  return head_.kind == AnswerKind::kCompletion ? Json(text) : Json{{std::string(field), text}};
}

Json StreamWriter::ChoiceOf(
    std::size_t choice, Json delta, std::optional<FinishReason> reason, const ChoiceDelta* logprobs
) const {
  Json body = {{"index", choice}};
  const bool is_chat = head_.kind == AnswerKind::kChat;
  body[is_chat ? "delta" : "text"] = std::move(delta);
  if (bytes_of_ && logprobs != nullptr && !logprobs->logprobs.empty()) {
    body["logprobs"] = is_chat ? ChatLogprobs(logprobs->logprobs, bytes_of_)
                               : CompletionLogprobs(logprobs->logprobs, bytes_of_);
  } else {
    body["logprobs"] = nullptr;
  }
  body["finish_reason"] = FinishReasonJson(reason);
  return body;
}

std::string StreamWriter::Chunk(
    std::size_t choice, Json delta, std::optional<FinishReason> reason, const ChoiceDelta* logprobs
) const {
  Json choices = Json::array();
  choices.push_back(ChoiceOf(choice, std::move(delta), reason, logprobs));
  return Frame(ChunkBody(head_, std::move(choices)));
}

std::string StreamWriter::Start(std::size_t choice) const {
  if (head_.kind == AnswerKind::kCompletion) {
    return "";
  }
  Json choices = Json::array();
  choices.push_back(
      ChoiceOf(choice, {{"role", "assistant"}, {"content", ""}}, std::nullopt, nullptr)
  );
  Json chunk = ChunkBody(head_, std::move(choices));
  if (head_.seed) {
    chunk["seed"] = *head_.seed;
  }
  return Frame(std::move(chunk));
}

std::string StreamWriter::Delta(std::size_t choice, const ChoiceDelta& delta) const {
  if (delta.empty()) {
    return "";
  }
  std::string frames;
  const bool has_reasoning = !delta.reasoning.empty() && head_.kind == AnswerKind::kChat;
  const bool has_content = !delta.content.empty();
  if (has_reasoning) {
    frames += Chunk(
        choice,
        TextDelta("reasoning_content", delta.reasoning),
        std::nullopt,
        has_content ? nullptr : &delta
    );
  }
  if (has_content || !has_reasoning) {
    frames += Chunk(choice, TextDelta("content", delta.content), std::nullopt, &delta);
  }
  return frames;
}

std::string StreamWriter::Finish(
    std::size_t choice, FinishReason reason, const Json& timings
) const {
  Json choices = Json::array();
  Json nothing = head_.kind == AnswerKind::kChat ? Json::object() : Json("");
  choices.push_back(ChoiceOf(choice, std::move(nothing), reason, nullptr));
  Json chunk = ChunkBody(head_, std::move(choices));
  if (head_.seed && head_.kind == AnswerKind::kCompletion) {
    chunk["seed"] = *head_.seed;
  }
  if (!timings.is_null()) {
    chunk["timings"] = timings;
  }
  return Frame(std::move(chunk));
}

std::string StreamWriter::End(const UsageCounts& usage) const {
  std::string frames;
  if (include_usage_) {
    Json chunk = ChunkBody(head_, Json::array());
    chunk["usage"] = UsageBody(usage);
    frames = Frame(std::move(chunk));
  }
  return frames.append(kSseDone);
}

std::string StreamWriter::Fail(const ApiError& error, const std::string& request_id) const {
  return SseEvent(DumpJson(ErrorBody(error, request_id))).append(kSseDone);
}

}  // namespace hearth::api
