#include "server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "server/http/chunk_line.h"
#include "server/http/request_target.h"

namespace hearth {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

std::string_view View(string_view text) {
  return {text.data(), text.size()};
}

// The elements of comma-separated values, without white space around them and without empty ones.
std::vector<std::string_view> ListElements(const std::vector<std::string_view>& values) {
  std::vector<std::string_view> elements;
  for (std::string_view value : values) {
    while (!value.empty()) {
      const std::size_t comma = std::min(value.find(','), value.size());
      std::string_view element = value.substr(0, comma);
      value.remove_prefix(std::min(comma + 1, value.size()));
      const std::size_t first = element.find_first_not_of(" \t");
      if (first != element.npos) {
        element = element.substr(first, element.find_last_not_of(" \t") + 1 - first);
        elements.push_back(element);
      }
    }
  }
  return elements;
}

bool Contains(const std::vector<std::string_view>& elements, std::string_view wanted) {
  return std::any_of(elements.begin(), elements.end(), [&](std::string_view element) {
    return EqualsIgnoringCase(element, wanted);
  });
}

std::string Bytes(std::size_t count) {
  return std::to_string(count) + " bytes";
}

HttpFault BodyTooLong(const HttpLimits& limits) {
  return {413, "the body is longer than " + Bytes(limits.max_body_bytes)};
}

}  // namespace

// What Beast reads, kept as our own values.
class RequestParser::Message final : public http::basic_parser<true> {
 public:
  explicit Message(const HttpLimits& limits) : limits_(limits) {
    header_limit(
        static_cast<std::uint32_t>(std::min<std::size_t>(
            limits.max_head_bytes + 2, std::numeric_limits<std::uint32_t>::max()
        ))
    );
    body_limit(limits.max_body_bytes);
  }

  // Whether the next byte belongs to a chunk's line.
  bool at_chunk_line() const { return chunked() && chunk_left_ == 0; }

  bool after_chunk() const { return chunks_ > 0; }

  HttpRequest request;
  std::string target;

 private:
  void on_request_impl(
      http::verb /*method*/, string_view method, string_view text, int version, error_code& /*ec*/
  ) override {
    request.method = View(method);
    request.minor_version = version % 10;
    target = View(text);
  }

  void on_response_impl(
      int /*code*/, string_view /*reason*/, int /*version*/, error_code& /*ec*/
  ) override {}

  void on_field_impl(
      http::field /*field*/, string_view name, string_view value, error_code& ec
  ) override {
    if (!in_body_) {
      request.headers.Add(std::string(View(name)), std::string(View(value)));
    } else if (++trailers_ > limits_.max_headers) {
      ec = http::error::header_limit;
    }
  }

  void on_header_impl(error_code& ec) override {
    in_body_ = true;
    ec = {};
  }

  void on_body_init_impl(
      const boost::optional<std::uint64_t>& /*length*/, error_code& /*ec*/
  ) override {}

  std::size_t on_body_impl(string_view bytes, error_code& /*ec*/) override {
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_chunk_header_impl(std::uint64_t size, string_view extensions, error_code& ec) override {
    ++chunks_;
    chunk_left_ = size;
    extension_bytes_ += extensions.size();
    if (extension_bytes_ > limits_.max_chunk_framing_bytes) {
      ec = http::error::bad_chunk_extension;
    }
  }

  std::size_t on_chunk_body_impl(
      std::uint64_t /*remain*/, string_view bytes, error_code& /*ec*/
  ) override {
    chunk_left_ -= bytes.size();
    request.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }

  void on_finish_impl(error_code& /*ec*/) override {}

  const HttpLimits& limits_;
  bool in_body_ = false;
  std::size_t trailers_ = 0;
  std::size_t extension_bytes_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t chunk_left_ = 0;
};

RequestParser::RequestParser(const HttpLimits& limits)
    : limits_(limits), scanner_(limits_), message_(std::make_unique<Message>(limits_)) {
}

RequestParser::~RequestParser() = default;

std::size_t RequestParser::Feed(std::string_view bytes) {
  if (state_ == State::kHead) {
    const std::size_t used = scanner_.Feed(bytes);
    if (scanner_.fault()) {
      Refuse(*scanner_.fault());
    } else if (scanner_.done()) {
      FeedHead();
    }
    return used;
  }
  return state_ == State::kBody ? FeedBody(bytes) : 0;
}

void RequestParser::FeedHead() {
  const std::string& head = scanner_.head();
  error_code ec;
  const std::size_t used = message_->put(boost::asio::buffer(head), ec);
  if (ec == http::error::body_limit) {
    CheckHead();  // what else is wrong with it comes first
    if (!fault_) {
      Refuse(BodyTooLong(limits_));
    }
    return;
  }
  if ((ec && ec != http::error::need_more) || !message_->is_header_done() || used != head.size()) {
    Refuse({400, "the head is not valid HTTP"});
    return;
  }
  CheckHead();
  if (!fault_) {
    state_ = message_->is_done() ? State::kDone : State::kBody;
  }
}

std::size_t RequestParser::FeedBody(std::string_view bytes) {
  std::size_t used = 0;
  error_code ec;
  // A step is a chunk's line, the last one with its trailers, or data.
  while (used < bytes.size() && !message_->is_done() && !ec) {
    const std::size_t body_bytes = message_->request.body.size();
    const std::string_view rest = bytes.substr(used);
    if (message_->at_chunk_line() && !MayBeChunkLine(rest, message_->after_chunk())) {
      ec = http::error::bad_chunk;
      break;
    }
    const std::size_t step = message_->put(boost::asio::buffer(rest.data(), rest.size()), ec);
    const bool framing = message_->request.body.size() == body_bytes;
    // The same bound whether the line came at once or is still coming.
    const std::size_t length = ec == http::error::need_more ? rest.size() : step;
    if (framing && length > limits_.max_chunk_framing_bytes &&
        (!ec || ec == http::error::need_more)) {
      Refuse(
          {431,
           "a chunk's line or the trailers are longer than " +
               Bytes(limits_.max_chunk_framing_bytes)}
      );
      return used;
    }
    used += step;
  }
  if (ec == http::error::body_limit) {
    Refuse(BodyTooLong(limits_));
  } else if (ec == http::error::header_limit) {
    Refuse({431, "there are more than " + std::to_string(limits_.max_headers) + " trailers"});
  } else if (ec && ec != http::error::need_more) {
    Refuse({400, "the body's chunks are not valid HTTP"});
  } else if (message_->is_done()) {
    state_ = State::kDone;
  }
  return used;
}

void RequestParser::CheckHead() {
  HttpRequest& request = message_->request;
  RequestTarget target;
  if (const auto bad = ParseRequestTarget(request.method, message_->target, target)) {
    Refuse(*bad);
    return;
  }
  request.path = std::move(target.path);
  request.raw_query = std::move(target.raw_query);
  request.query = std::move(target.query);
  target_authority_ = std::move(target.authority);
  CheckHost();
  if (!fault_) {
    CheckFrame();
  }
  if (!fault_) {
    CheckExpectation();
  }
  const auto connection = ListElements(request.headers.All("connection"));
  keep_alive_ = !Contains(connection, "close") &&
                (request.minor_version == 1 || Contains(connection, "keep-alive"));
}

void RequestParser::CheckHost() {
  const HttpRequest& request = message_->request;
  const auto hosts = request.headers.All("host");
  if (hosts.size() > 1 || (hosts.empty() && request.minor_version == 1)) {
    Refuse({400, "a request must have one Host header"});
  } else if (!hosts.empty() && !IsAuthority(hosts.front())) {
    Refuse({400, "the Host header names no host"});
  } else if (
      target_authority_ && !hosts.empty() && !EqualsIgnoringCase(*target_authority_, hosts.front())
  ) {
    Refuse({400, "the target and the Host header name different hosts"});
  }
}

void RequestParser::CheckFrame() {
  const HttpRequest& request = message_->request;
  const auto lengths = request.headers.All("content-length");
  const auto codings = request.headers.All("transfer-encoding");
  if (!codings.empty()) {
    if (!lengths.empty() || codings.size() > 1) {
      Refuse({400, "a body has one frame: one Content-Length or one Transfer-Encoding"});
    } else if (request.minor_version == 0) {
      Refuse({400, "HTTP/1.0 knows no Transfer-Encoding"});
    } else if (!EqualsIgnoringCase(codings.front(), "chunked")) {
      Refuse({501, "no Transfer-Encoding but \"chunked\" is implemented"});
    }
    return;
  }
  if (lengths.size() > 1) {
    Refuse({400, "a body has one frame: one Content-Length or one Transfer-Encoding"});
    return;
  }
  if (!lengths.empty()) {
    const std::string_view length = lengths.front();
    if (length.empty() || length.find_first_not_of("0123456789") != length.npos) {
      Refuse({400, "Content-Length is not a number"});
    }
  }
}

void RequestParser::CheckExpectation() {
  const HttpRequest& request = message_->request;
  const auto expectations = request.headers.All("expect");
  if (expectations.empty() || request.minor_version == 0) {
    return;
  }
  if (expectations.size() > 1 || !EqualsIgnoringCase(expectations.front(), "100-continue")) {
    Refuse({417, "no expectation but \"100-continue\" can be met"});
    return;
  }
  expects_continue_ = true;
}

void RequestParser::Refuse(HttpFault fault) {
  fault_ = std::move(fault);
  state_ = State::kFault;
}

RequestParser::State RequestParser::state() const {
  return state_;
}

bool RequestParser::started() const {
  return scanner_.started();
}

const HttpFault& RequestParser::fault() const {
  return *fault_;
}

HttpRequest& RequestParser::request() {
  return message_->request;
}

bool RequestParser::keep_alive() const {
  return keep_alive_;
}

bool RequestParser::expects_continue() const {
  return expects_continue_;
}

std::size_t RequestParser::body_bytes() const {
  return message_->request.body.size();
}

}  // namespace hearth
