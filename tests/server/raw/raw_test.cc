// Raw bytes against the running HTTP server: a right answer or a closed connection each, and never a request that nobody
// sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "server/http/http_test_service.h"
#include "server/raw/raw_cases.h"
#include "support/raw_http_client.h"

namespace hearth {
namespace {

HttpLimits RawLimits() {
  HttpLimits limits;
  limits.max_request_line_bytes = kRawRequestLineBytes;
  limits.max_head_bytes = kRawHeadBytes;
  limits.max_headers = kRawHeaders;
  limits.max_body_bytes = kRawBodyBytes;
  return limits;
}

bool SawSmuggled(const HttpTestService& service) {
  const auto records = service.records();
  return std::any_of(records.begin(), records.end(), [](const HttpRecord& record) {
    return record.path == "/smuggled";
  });
}

void CheckRight(std::uint16_t port, const RawCase& wanted) {
  RawHttpClient client(port);
  client.Send(wanted.bytes);
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response && response->complete);
  EXPECT_EQ(response->status, 200) << response->body;
  EXPECT_EQ(response->body, wanted.body);
  if (response->Header("connection") == "keep-alive") {
    // The request ended where it should: the next one is understood.
    client.Send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto next = client.ReadResponse();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->body, "hello");
  }
}

void CheckWrong(std::uint16_t port, const RawCase& wanted, bool followed) {
  RawHttpClient client(port);
  client.Send(wanted.bytes + (followed ? kSmuggled : ""));
  client.CloseWriting();
  const std::optional<RawHttpResponse> response = client.ReadResponse();
  const int status = response ? response->status : 0;
  EXPECT_TRUE(std::count(wanted.statuses.begin(), wanted.statuses.end(), status))
      << "got " << status << (response ? ": " + response->body : "");
  if (response) {
    EXPECT_TRUE(response->complete);
    EXPECT_EQ(response->Header("connection"), "close");
    EXPECT_EQ(response->Header("content-type"), "application/x-test");
    EXPECT_TRUE(response->body.starts_with(std::to_string(status) + " "));
  }
  EXPECT_TRUE(client.ServerCloses()) << "something follows, or the connection stays";
}

// Runs the kind's cases against one server, which must be as healthy after them as before.
void CheckKind(const std::string& name) {
  HttpTestServer test(RawLimits());
  const auto kinds = RawKinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const RawKind& candidate) {
    return candidate.name == name;
  });
  ASSERT_NE(kind, kinds.end());
  for (const RawCase& wanted : kind->cases) {
    SCOPED_TRACE(name + ": " + wanted.name);
    try {
      if (wanted.statuses.front() == 200) {
        CheckRight(test.port, wanted);
      } else {
        CheckWrong(test.port, wanted, name != "cut requests");
      }
    } catch (const std::runtime_error& error) {
      ADD_FAILURE() << error.what();
    }
  }
  test.server->Stop(std::chrono::seconds(10));
  EXPECT_FALSE(SawSmuggled(test.service));
  const HttpCounters counters = test.server->counters();
  EXPECT_EQ(counters.open_connections, 0u);
  EXPECT_EQ(counters.running_requests, 0u);
  EXPECT_EQ(counters.buffered_body_bytes, 0u);
  EXPECT_EQ(counters.aborted_requests, 0u);
}

TEST(RawHttp, ThereAreManyCases) {
  std::size_t cases = 0;
  for (const RawKind& kind : RawKinds()) {
    EXPECT_FALSE(kind.cases.empty()) << kind.name;
    cases += kind.cases.size();
  }
  EXPECT_GE(cases, 300u);
  RecordProperty("cases", static_cast<int>(cases));
}

TEST(RawHttp, RightRequests) {
  CheckKind("right requests");
}

TEST(RawHttp, LineEnds) {
  CheckKind("line ends");
}

TEST(RawHttp, ControlCharacters) {
  CheckKind("control characters");
}

TEST(RawHttp, HeaderLines) {
  CheckKind("header lines");
}

TEST(RawHttp, RequestLines) {
  CheckKind("request lines");
}

TEST(RawHttp, Targets) {
  CheckKind("targets");
}

TEST(RawHttp, Hosts) {
  CheckKind("hosts");
}

TEST(RawHttp, ContentLengths) {
  CheckKind("content lengths");
}

TEST(RawHttp, TransferEncodings) {
  CheckKind("transfer encodings");
}

TEST(RawHttp, Chunks) {
  CheckKind("chunks");
}

TEST(RawHttp, Expectations) {
  CheckKind("expectations");
}

TEST(RawHttp, Limits) {
  CheckKind("limits");
}

TEST(RawHttp, OtherProtocols) {
  CheckKind("other protocols");
}

TEST(RawHttp, CutRequests) {
  CheckKind("cut requests");
}

}  // namespace
}  // namespace hearth
