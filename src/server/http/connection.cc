// Reading requests and the order of things; connection_answer.cc has the answers.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <string_view>
#include <utility>

#include "platform/log.h"
#include "server/http/connection_internal.h"

namespace hearth {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

bool IsSafeId(std::string_view text) {
  constexpr std::string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
  return !text.empty() && text.size() <= 128 && text.find_first_not_of(kSafe) == text.npos;
}

}  // namespace

bool BodyLease::Grow(std::size_t bytes) {
  if ((shared_.buffered_body_bytes += bytes) > shared_.limits.max_buffered_body_bytes) {
    shared_.buffered_body_bytes -= bytes;
    return false;
  }
  bytes_ += bytes;
  return true;
}

HttpConnection::HttpConnection(tcp::socket socket, HttpServerShared& shared)
    : shared_(shared), gone_wake_(socket.get_executor(), Clock::time_point::max()) {
  boost::system::error_code gone_already;
  const tcp::endpoint remote = socket.remote_endpoint(gone_already);
  remote_address_ = gone_already ? "" : remote.address().to_string();
  remote_port_ = remote.port();
  socket_ = std::make_shared<BufferedSocket>(std::move(socket), shared.limits);
  socket_->OnChange([this] { OnSocketChange(); });
}

asio::awaitable<void> HttpConnection::Serve(std::shared_ptr<HttpConnection> self) {
  try {
    while (true) {
      auto serving = self->ServeRequest();
      if (!co_await std::move(serving)) {
        break;
      }
    }
  } catch (const std::exception& error) {
    Log(LogLevel::kError, std::string("HTTP connection: ") + error.what());
  }
  self->socket_->Forget();
  self->socket_->Close();
}

asio::awaitable<void> HttpConnection::TurnAway(std::shared_ptr<HttpConnection> self) {
  try {
    self->BeginRequest();
    HttpHeaders headers{{"Retry-After", "1"}};
    auto answering =
        self->AnswerError(503, "the server has as many connections as it may", std::move(headers));
    co_await std::move(answering);
    auto lingering = self->socket_->Linger();
    co_await std::move(lingering);
  } catch (const std::exception& error) {
    Log(LogLevel::kError, std::string("HTTP connection: ") + error.what());
  }
  self->socket_->Forget();
  self->socket_->Close();
}

void HttpConnection::Drain() {
  draining_ = true;
  socket_->Wake();
}

void HttpConnection::Abort() {
  draining_ = true;
  if (running_) {
    ++shared_.aborted_requests;
    NoticeGone(GoneReason::kStopping);
  }
  socket_->Close();
}

void HttpConnection::BeginRequest() {
  parser_.emplace(shared_.limits);
  fault_.reset();
  answer_ = Answer{};
  answer_.record.remote_address = remote_address_;
  on_gone_.clear();
  gone_ = -1;
}

// True when the connection may go on with another request.
asio::awaitable<bool> HttpConnection::ServeRequest() {
  BeginRequest();
  ++served_;
  auto reading_head = ReadHead();
  const Reading head = co_await std::move(reading_head);
  if (head == Reading::kClosed) {
    co_return false;
  }
  ++shared_.requests;
  BeginAnswer();
  if (head == Reading::kFault) {
    auto answering = AnswerFault();
    co_await std::move(answering);
    co_return false;
  }
  if (std::optional<HttpRefusal> refusal = Admit()) {
    const bool unread = parser_->state() != RequestParser::State::kDone;
    auto answering = AnswerError(refusal->status, refusal->message, refusal->headers);
    co_await std::move(answering);
    Finish();
    if (unread) {
      auto lingering = socket_->Linger();
      co_await std::move(lingering);
    }
    co_return answer_.keep_alive && !answer_.failed;
  }
  BodyLease lease(shared_);
  auto reading_body = ReadBody(lease);
  const Reading body = co_await std::move(reading_body);
  if (body == Reading::kClosed) {
    Finish();
    co_return false;
  }
  if (body == Reading::kFault) {
    auto answering = AnswerFault();
    co_await std::move(answering);
    co_return false;
  }
  auto running = RunService();
  co_await std::move(running);
  Finish();
  co_return answer_.keep_alive && !answer_.failed && answer_.phase == AnswerPhase::kDone;
}

asio::awaitable<HttpConnection::Reading> HttpConnection::ReadHead() {
  const auto idle =
      served_ == 1 ? shared_.limits.header_timeout : shared_.limits.keep_alive_timeout;
  auto deadline = Clock::now() + idle;
  bool started = false;
  while (true) {
    socket_->Consume(parser_->Feed(socket_->inbound()));
    if (parser_->state() == RequestParser::State::kFault) {
      co_return Reading::kFault;
    }
    if (parser_->state() != RequestParser::State::kHead) {
      co_return Reading::kReady;
    }
    if (parser_->started() && !started) {
      started = true;
      deadline = Clock::now() + shared_.limits.header_timeout;
    }
    if (socket_->broken() || (!started && (draining_ || socket_->ended()))) {
      co_return Reading::kClosed;
    }
    if (socket_->ended()) {
      Refuse(400, "the connection ended inside the head");
      co_return Reading::kFault;
    }
    if (Clock::now() >= deadline) {
      Refuse(408, "the head did not come in time");
      co_return started ? Reading::kFault : Reading::kClosed;
    }
    socket_->Read();
    auto waiting = socket_->WaitForChange(deadline);
    co_await std::move(waiting);
  }
}

asio::awaitable<HttpConnection::Reading> HttpConnection::ReadBody(BodyLease& lease) {
  const auto deadline = Clock::now() + shared_.limits.body_timeout;
  if (parser_->expects_continue() && parser_->state() == RequestParser::State::kBody &&
      socket_->inbound().empty()) {
    auto writing = socket_->Write(kContinue);
    co_await std::move(writing);
  }
  std::size_t held = 0;
  while (true) {
    socket_->Consume(parser_->Feed(socket_->inbound()));
    if (parser_->state() == RequestParser::State::kFault) {
      co_return Reading::kFault;
    }
    const std::size_t come = parser_->body_bytes() - held;
    if (!lease.Grow(come)) {
      Refuse(503, "the server holds as many bytes of bodies as it may");
      co_return Reading::kFault;
    }
    held += come;
    if (parser_->state() == RequestParser::State::kDone) {
      co_return Reading::kReady;
    }
    if (socket_->broken()) {
      co_return Reading::kClosed;
    }
    if (socket_->ended()) {
      Refuse(400, "the connection ended inside the body");
      co_return Reading::kFault;
    }
    if (Clock::now() >= deadline) {
      Refuse(408, "the body did not come in time");
      co_return Reading::kFault;
    }
    socket_->Read();
    auto waiting = socket_->WaitForChange(deadline);
    co_await std::move(waiting);
  }
}

// What an answer needs to know of its request, as far as that was understood.
void HttpConnection::BeginAnswer() {
  HttpRequest& request = parser_->request();
  request.remote_address = remote_address_;
  request.remote_port = remote_port_;
  request.id = RequestId();
  answer_.begun = Clock::now();
  answer_.head_only = request.method == "HEAD";
  answer_.record.id = request.id;
  if (!request.path.empty()) {
    answer_.record.method = request.method;
    answer_.record.path = request.path;
    try {
      shared_.service.AddHeaders(request, answer_.extra_headers);
    } catch (const std::exception& error) {
      Log(LogLevel::kError, "request " + request.id + ": headers: " + error.what());
    }
  }
}

std::optional<HttpRefusal> HttpConnection::Admit() {
  try {
    return shared_.service.Admit(parser_->request());
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "request " + answer_.record.id + ": admission: " + error.what());
    return HttpRefusal{500, "internal error", {}};
  }
}

std::string HttpConnection::RequestId() {
  const auto sent = parser_->request().headers.All("x-request-id");
  if (sent.size() == 1 && IsSafeId(sent.front())) {
    return std::string(sent.front());
  }
  return shared_.id_prefix + std::to_string(++shared_.made_ids);
}

void HttpConnection::Refuse(int status, std::string message) {
  fault_ = HttpFault{status, std::move(message)};
}

asio::awaitable<void> HttpConnection::RunService() {
  running_ = true;
  ++shared_.running_requests;
  socket_->Read();
  OnSocketChange();  // what came with the request counts as having come now
  HttpExchange exchange(*this);
  std::string failure;
  try {
    // Spawned, so that this coroutine goes on here whatever executor the service ends on.
    auto handling =
        asio::co_spawn(executor(), shared_.service.Handle(exchange), asio::use_awaitable);
    co_await std::move(handling);
  } catch (const std::exception& error) {
    failure = std::string("failed: ") + error.what();
  }
  on_gone_.clear();
  running_ = false;
  --shared_.running_requests;
  gone_wake_.cancel();
  if (answer_.phase == AnswerPhase::kDone) {
    co_return;
  }
  if (failure.empty()) {
    failure = "ended without a whole answer";
  }
  if (!gone()) {
    Log(LogLevel::kError, "request " + answer_.record.id + ": the service " + failure);
  }
  if (answer_.phase == AnswerPhase::kNone && !(gone() && socket_->broken())) {
    auto answering = gone() ? AnswerError(499, "the client has closed the request", {})
                            : AnswerError(500, "internal error", {});
    co_await std::move(answering);
  }
}

std::optional<GoneReason> HttpConnection::gone() const {
  const int reason = gone_;
  return reason < 0 ? std::nullopt : std::optional(static_cast<GoneReason>(reason));
}

void HttpConnection::OnSocketChange() {
  if (!running_) {
    return;
  }
  if (socket_->broken()) {
    NoticeGone(socket_->stalled() ? GoneReason::kStalled : GoneReason::kReset);
  } else if (socket_->ended()) {
    NoticeGone(GoneReason::kClosed);
  }
  socket_->Read();
}

void HttpConnection::NoticeGone(GoneReason reason) {
  if (gone()) {
    return;
  }
  gone_ = static_cast<int>(reason);
  gone_wake_.cancel();
  for (const auto& callback : std::exchange(on_gone_, {})) {
    callback(reason);
  }
}

void HttpConnection::OnGone(std::function<void(GoneReason)> callback) {
  if (const auto reason = gone()) {
    callback(*reason);
  } else {
    on_gone_.push_back(std::move(callback));
  }
}

}  // namespace hearth
