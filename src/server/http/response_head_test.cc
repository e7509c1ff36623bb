#include "server/http/response_head.h"

#include <gtest/gtest.h>

#include "hearth/error.h"
#include "support/expect_error.h"

namespace hearth {
namespace {

TEST(ResponseHead, SaysFrameDateAndConnection) {
  const HttpHeaders headers{{"Content-Type", "text/plain"}};
  ResponseFrame frame;
  frame.length = 5;
  EXPECT_EQ(
      FormatResponseHead(200, headers, frame, "id1", true, 784111777),
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
      "X-Request-Id: id1\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n"
  );
  frame.length.reset();
  frame.chunked = true;
  EXPECT_EQ(
      FormatResponseHead(599, {}, frame, "", false, 0),
      "HTTP/1.1 599 Status\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nTransfer-Encoding: chunked\r\n"
      "Connection: close\r\n\r\n"
  );
}

TEST(ResponseHead, RefusesHeadersThatWouldBreakIt) {
  for (const HttpHeader& header : std::initializer_list<HttpHeader>{
           {"X", "a\r\nb: c"},
           {"X", "a\nb"},
           {"X", std::string("a\0b", 3)},
           {"X Y", "a"},
           {"", "a"},
           {"X:", "a"},
           {"content-length", "1"},
           {"Transfer-Encoding", "chunked"},
           {"CONNECTION", "close"},
           {"Date", "now"},
           {"X-Request-Id", "a"}
       }) {
    ExpectError(
        [&] { FormatResponseHead(200, {header}, {}, "", true, 0); },
        ErrorCode::kInternal,
        "HTTP answer"
    );
  }
  ExpectError(
      [] { FormatResponseHead(600, {}, {}, "", true, 0); },
      ErrorCode::kInternal,
      "got the status 600"
  );
}

}  // namespace
}  // namespace hearth
