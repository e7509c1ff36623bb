// The answers of a connection, and the exchange through which a service gives them.
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <ctime>
#include <utility>

#include "hearth/error.h"
#include "server/http/connection_internal.h"
#include "server/http/response_head.h"

namespace hearth {
namespace {

namespace asio = boost::asio;

// A body up to this goes out with its head in one piece.
constexpr std::size_t kJoinedBodyBytes = 64 * 1024;

bool HasNoBody(int status) {
  return status == 204 || status == 304;
}

void Require(bool holds, const char* what) {
  if (!holds) {
    throw Error(ErrorCode::kInternal, std::string("HTTP answer: ") + what);
  }
}

std::string Framed(const std::string& bytes) {
  std::array<char, 16> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16).ptr;
  std::string chunk(digits.data(), end);
  chunk.reserve(chunk.size() + bytes.size() + 4);
  return chunk.append("\r\n").append(bytes).append("\r\n");
}

// Runs a step of the answer on the connection's executor and resumes on the caller's.
asio::awaitable<bool> RunOn(boost::asio::any_io_executor executor, asio::awaitable<bool> step) {
  auto running = asio::co_spawn(executor, std::move(step), asio::use_awaitable);
  co_return co_await std::move(running);
}

}  // namespace

bool HttpConnection::MayStay() const {
  return parser_->state() == RequestParser::State::kDone && parser_->keep_alive() && !fault_ &&
         !draining_ && !socket_->ended() && served_ < shared_.limits.max_requests_per_connection;
}

// The head of the answer, which begins with it: what it says is decided now.
std::string HttpConnection::TakeHead(
    int status, const HttpHeaders& headers, bool stream, std::size_t length
) {
  Require(answer_.phase == AnswerPhase::kNone, "got a second answer, wanted one");
  const bool old = parser_->request().minor_version == 0;
  ResponseFrame frame;
  if (!HasNoBody(status)) {
    frame.chunked = stream && !old;
    if (!stream) {
      frame.length = length;
    }
  }
  // The end of the connection is the end of a stream that HTTP/1.0 reads.
  const bool keep_alive = MayStay() && (!stream || frame.chunked || HasNoBody(status));
  HttpHeaders all = headers;
  for (const HttpHeader& extra : answer_.extra_headers) {
    all.Add(extra.name, extra.value);
  }
  std::string head =
      FormatResponseHead(status, all, frame, answer_.record.id, keep_alive, std::time(nullptr));
  answer_.phase = stream ? AnswerPhase::kStreaming : AnswerPhase::kDone;
  answer_.chunked = frame.chunked;
  answer_.keep_alive = keep_alive;
  answer_.head_only = answer_.head_only || HasNoBody(status);
  answer_.record.status = status;
  return head;
}

asio::awaitable<bool> HttpConnection::WriteAnswer(std::string bytes) {
  Require(!answer_.writing, "got two writes at once, wanted one after the other");
  answer_.writing = true;
  auto writing = socket_->Write(bytes);
  const bool sent = co_await std::move(writing);
  answer_.writing = false;
  if (sent) {
    answer_.begun_sending = true;
  } else {
    answer_.failed = true;
    OnSocketChange();
  }
  co_return sent;
}

asio::awaitable<bool> HttpConnection::Respond(HttpResponse response) {
  std::string bytes = TakeHead(response.status, response.headers, false, response.body.size());
  if (answer_.head_only) {
    response.body.clear();
  }
  const std::size_t body_bytes = response.body.size();
  const bool joined = body_bytes <= kJoinedBodyBytes;
  if (joined) {
    bytes += response.body;
  }
  auto writing = WriteAnswer(std::move(bytes));
  bool sent = co_await std::move(writing);
  if (sent && !joined) {
    auto writing_body = WriteAnswer(std::move(response.body));
    sent = co_await std::move(writing_body);
  }
  answer_.record.body_bytes = sent ? body_bytes : 0;
  answer_.record.complete = sent;
  co_return sent;
}

asio::awaitable<bool> HttpConnection::BeginStream(int status, HttpHeaders headers) {
  return WriteAnswer(TakeHead(status, headers, true, 0));
}

asio::awaitable<bool> HttpConnection::WriteChunk(std::string bytes) {
  Require(answer_.phase == AnswerPhase::kStreaming, "got a chunk, wanted BeginStream before it");
  if (bytes.empty() || answer_.head_only) {
    co_return !answer_.failed;
  }
  const std::size_t count = bytes.size();
  auto writing = WriteAnswer(answer_.chunked ? Framed(bytes) : std::move(bytes));
  const bool sent = co_await std::move(writing);
  answer_.record.body_bytes += sent ? count : 0;
  co_return sent;
}

asio::awaitable<bool> HttpConnection::EndStream() {
  Require(answer_.phase == AnswerPhase::kStreaming, "got the end, wanted BeginStream before it");
  answer_.phase = AnswerPhase::kDone;
  if (answer_.chunked && !answer_.head_only && !answer_.failed) {
    auto writing = WriteAnswer("0\r\n\r\n");
    co_await std::move(writing);
  }
  answer_.record.complete = !answer_.failed;
  co_return !answer_.failed;
}

asio::awaitable<void> HttpConnection::AnswerError(
    int status, std::string message, HttpHeaders headers
) {
  HttpResponse response;
  response.status = status;
  response.headers = std::move(headers);
  if (!message.empty()) {
    HttpErrorBody body = shared_.service.ErrorBody(status, message);
    response.headers.Add("Content-Type", std::move(body.content_type));
    response.body = std::move(body.body);
  }
  auto responding = Respond(std::move(response));
  co_await std::move(responding);
}

asio::awaitable<void> HttpConnection::AnswerFault() {
  ++shared_.faults;
  if (!fault_) {
    fault_ = parser_->fault();
  }
  HttpHeaders headers;
  if (fault_->status == 503) {
    headers.Add("Retry-After", "1");
  }
  auto answering = AnswerError(fault_->status, fault_->message, std::move(headers));
  co_await std::move(answering);
  Finish();
  auto lingering = socket_->Linger();
  co_await std::move(lingering);
}

void HttpConnection::Finish() {
  HttpRecord& record = answer_.record;
  if (!answer_.begun_sending) {
    record.status = 499;
  }
  record.duration = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - answer_.begun
  );
  shared_.service.Finished(record);
}

asio::awaitable<std::optional<GoneReason>> HttpConnection::WaitGone() {
  if (!gone()) {
    auto waiting = gone_wake_.async_wait(asio::as_tuple(asio::use_awaitable));
    co_await std::move(waiting);
  }
  co_return gone();
}

HttpErrorBody HttpService::ErrorBody(int /*status*/, std::string_view message) {
  return {"text/plain; charset=utf-8", std::string(message) + "\n"};
}

HttpRequest& HttpExchange::request() {
  return connection_.request();
}

asio::awaitable<bool> HttpExchange::Respond(HttpResponse response) {
  return RunOn(connection_.executor(), connection_.Respond(std::move(response)));
}

asio::awaitable<bool> HttpExchange::BeginStream(int status, HttpHeaders headers) {
  return RunOn(connection_.executor(), connection_.BeginStream(status, std::move(headers)));
}

asio::awaitable<bool> HttpExchange::WriteChunk(std::string bytes) {
  return RunOn(connection_.executor(), connection_.WriteChunk(std::move(bytes)));
}

asio::awaitable<bool> HttpExchange::EndStream() {
  return RunOn(connection_.executor(), connection_.EndStream());
}

std::optional<GoneReason> HttpExchange::gone() const {
  return connection_.gone();
}

void HttpExchange::OnGone(std::function<void(GoneReason)> callback) {
  connection_.OnGone(std::move(callback));
}

asio::awaitable<std::optional<GoneReason>> HttpExchange::WaitGone() {
  return connection_.WaitGone();
}

}  // namespace hearth
