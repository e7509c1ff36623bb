#include "server/raw/raw_cases.h"

#include <cstdio>
#include <random>
#include <string_view>
#include <utility>

namespace hearth {
namespace {

const std::string kChunkedHead =
    "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string Get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

std::string WithHeaders(const std::string& headers, const std::string& body = "") {
  return "POST /echo HTTP/1.1\r\nHost: a\r\n" + headers + "\r\n" + body;
}

std::string Hex(unsigned byte) {
  char text[8];
  std::snprintf(text, sizeof text, "%02x", byte);
  return text;
}

// A name for bytes: what is not plain becomes \xNN, and long ones are cut.
std::string NameOf(std::string_view bytes) {
  std::string name;
  for (const char c : bytes.substr(0, 200)) {
    const auto byte = static_cast<unsigned char>(c);
    name += byte > 0x20 && byte < 0x7f ? std::string(1, c) : "\\x" + Hex(byte);
  }
  return name;
}

class Kind {
 public:
  explicit Kind(std::string name) { kind_.name = std::move(name); }

  Kind& Right(const std::string& bytes, const std::string& body = "") {
    kind_.cases.push_back({NameOf(bytes), bytes, {200}, body});
    return *this;
  }

  Kind& Wrong(std::vector<int> statuses, const std::string& bytes) {
    kind_.cases.push_back({NameOf(bytes), bytes, std::move(statuses), ""});
    return *this;
  }

  RawKind Done() { return std::move(kind_); }

 private:
  RawKind kind_;
};

std::vector<unsigned> ControlBytes() {
  std::vector<unsigned> bytes;
  for (unsigned byte = 0; byte < 0x20; ++byte) {
    if (byte != '\t' && byte != '\r' && byte != '\n') {
      bytes.push_back(byte);
    }
  }
  bytes.push_back(0x7f);
  return bytes;
}

RawKind RightRequests() {
  Kind kind("right requests");
  for (const char* method : {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
    kind.Right(std::string(method) + " /echo HTTP/1.1\r\nHost: a\r\n\r\n");
    kind.Right(std::string(method) + " /echo HTTP/1.0\r\n\r\n");
    kind.Right(
        std::string(method) + " /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok", "ok"
    );
  }
  kind.Right("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
  kind.Right("\r\n" + Get("/echo"));
  kind.Right("GET /echo HTTP/1.1\r\nhOsT:a\r\n\r\n");
  kind.Right("GET /echo HTTP/1.1\r\nHost:  \t a \t \r\n\r\n");
  kind.Right(WithHeaders("X-Empty:\r\n"));
  kind.Right(WithHeaders("X-Latin: \xe9\xff\r\n"));
  kind.Right(WithHeaders("X-Tab: a\tb\r\n"));
  kind.Right(WithHeaders("X-Colons: a: b: c\r\n"));
  kind.Right(WithHeaders("Content-Length: 0\r\n"));
  kind.Right(WithHeaders("Content-Length: 0002\r\n", "ok"), "ok");
  kind.Right(WithHeaders("content-length: 2\r\n", "ok"), "ok");
  kind.Right(
      WithHeaders("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n")
  );
  kind.Right(
      WithHeaders("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n")
  );
  return kind.Done();
}

RawKind LineEnds() {
  Kind kind("line ends");
  const std::string right = WithHeaders("A: b\r\nContent-Length: 0\r\n");
  for (std::size_t at = right.find("\r\n"); at != right.npos; at = right.find("\r\n", at + 2)) {
    std::string cut = right;
    kind.Wrong({400}, cut.replace(at, 2, "\n"));
    cut = right;
    kind.Wrong({400}, cut.replace(at, 2, "\r"));
    cut = right;
    kind.Wrong({400}, cut.replace(at, 2, "\r\r\n"));
    cut = right;
    kind.Wrong({400}, cut.replace(at, 2, "\n\r"));
  }
  kind.Wrong({400}, "\r\n\r\n" + Get("/echo"));
  kind.Wrong({400}, "\n" + Get("/echo"));
  kind.Wrong({400}, " " + Get("/echo"));
  return kind.Done();
}

RawKind ControlCharacters() {
  Kind kind("control characters");
  for (const unsigned byte : ControlBytes()) {
    const std::string c(1, static_cast<char>(byte));
    kind.Wrong({400}, WithHeaders("A: b" + c + "c\r\n"));
    kind.Wrong({400}, WithHeaders("A" + c + "B: c\r\n"));
    kind.Wrong({400}, Get("/a" + c + "b"));
  }
  kind.Wrong({400}, "GET\t/echo\tHTTP/1.1\r\nHost: a\r\n\r\n");
  return kind.Done();
}

RawKind HeaderLines() {
  Kind kind("header lines");
  for (const char c : std::string_view("\"(),/;<=>?@[\\]{} \t")) {
    kind.Wrong({400}, WithHeaders(std::string("A") + c + "B: c\r\n"));
  }
  for (const char* line :
       {"A : b\r\n",
        "A\t: b\r\n",
        ": b\r\n",
        " : b\r\n",
        "no colon\r\n",
        "A\r\n",
        " folded\r\n",
        "\tfolded\r\n",
        "A: b\r\n c\r\n",
        "A: b\r\n\tc\r\n",
        "A: b\r\n \r\n",
        "\xc3\xa9: b\r\n",
        "Content-Length : 5\r\n",
        "Transfer-Encoding : chunked\r\n",
        " Content-Length: 5\r\n",
        "Content-Length: 5\r\n 0\r\n"}) {
    kind.Wrong({400}, WithHeaders(line));
  }
  kind.Wrong({400}, "GET /echo HTTP/1.1\r\n Host: a\r\n\r\n");
  return kind.Done();
}

RawKind RequestLines() {
  Kind kind("request lines");
  for (const char* line :
       {"GET /echo",
        "GET",
        "GET ",
        "GET  /echo HTTP/1.1",
        "GET /echo  HTTP/1.1",
        "GET /echo HTTP/1.1 ",
        " GET /echo HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET HTTP/1.1",
        "/echo HTTP/1.1",
        "GET /echo HTTP",
        "GET /echo HTTP/",
        "GET /echo HTTP/1",
        "GET /echo HTTP/1.",
        "GET /echo HTTP/.1",
        "GET /echo HTTP/1.1.1",
        "GET /echo HTTP/11",
        "GET /echo http/1.1",
        "GET /echo HTTP/1.10",
        "GET /echo HTTP/01.1",
        "GET /echo HTTP/1,1",
        "GET /echo HTTP/-1.1",
        "GET /echo XTTP/1.1",
        "GET /echo HTTP/1.x",
        "GET /echo HTTPS/1.1",
        "GET /echo ICY/1.1",
        "G(T /echo HTTP/1.1",
        "\"GET\" /echo HTTP/1.1",
        "GET: /echo HTTP/1.1",
        "\xc3\x89T /echo HTTP/1.1"}) {
    kind.Wrong({400}, std::string(line) + "\r\nHost: a\r\n\r\n");
  }
  for (const char* version : {"0.9", "1.2", "1.9", "2.0", "3.0", "0.0", "9.9"}) {
    kind.Wrong({505}, std::string("GET /echo HTTP/") + version + "\r\nHost: a\r\n\r\n");
  }
  for (const char* method : {
           "get", "Get", "BREW", "TRACE", "PROPFIND", "LINK", "PURGE", "GETS", "GE", "M-SEARCH", "_"
       }) {
    kind.Wrong({501}, std::string(method) + " /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  kind.Wrong({501}, "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n");
  kind.Wrong({501}, "CONNECT /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  return kind.Done();
}

RawKind Targets() {
  Kind kind("targets");
  for (const char* target :
       {"/..",
        "/../echo",
        "/a/../echo",
        "/a/..",
        "/.",
        "/./echo",
        "/a/./b",
        "/%2e%2e/echo",
        "/%2E./echo",
        "/.%2e",
        "/%2e",
        "/a%2f..%2fecho",
        "/a/%2e%2e%2fecho",
        "/..%5cecho",
        "/a\\..\\echo",
        "/a%5c",
        "/%00",
        "/echo%00.json",
        "/%0d%0aX:%20y",
        "/%0a",
        "/%1f",
        "/%7f",
        "/%",
        "/%2",
        "/%g0",
        "/%0g",
        "/%%",
        "/a%",
        "/% 41",
        "/%u0041",
        "/echo#x",
        "/#",
        "/\x80",
        "/\xc3\xa9",
        "/%80",
        "/%ff",
        "/%c0%ae%c0%ae/echo",
        "/%c3",
        "/%ed%a0%80",
        "/%f4%90%80%80",
        "/?a=%",
        "/?a=%zz",
        "/?%00=b",
        "/?a=%ff",
        "/?a=%0a",
        "echo",
        "?a=b",
        "*",
        "a:80",
        "https://a/echo",
        "ftp://a/echo",
        "http:/echo",
        "http:///echo",
        "http://u:p@a/echo",
        "http://b/echo",
        "http://a:81/echo",
        "http://a b/echo",
        "//",
        "javascript:alert(1)"}) {
    if (std::string_view(target) == "//") {
      kind.Right(Get(target));  // an empty segment is a path like any
    } else {
      kind.Wrong({400}, Get(target));
    }
  }
  for (const char* target :
       {"/echo",       "/echo?",        "/echo?a=b&c",   "/%65cho",  "/echo?a=../..",
        "/...",        "/..a",          "/a..",          "/.git",    "/a%2Fb",
        "/%C3%A9",     "http://a/echo", "HTTP://A/echo", "http://a", "http://a?x=y",
        "/echo?a=%5c", "/a;b=c",        "/a{b}|c",       "/~a",      "/a:b@c"}) {
    kind.Right(Get(target));
  }
  return kind.Done();
}

RawKind Hosts() {
  Kind kind("hosts");
  const auto with = [](const std::string& headers) {
    return "GET /echo HTTP/1.1\r\n" + headers + "\r\n";
  };
  for (const char* headers :
       {"",
        "Host:\r\n",
        "Host: \r\n",
        "Host: a\r\nHost: a\r\n",
        "Host: a\r\nhost: b\r\n",
        "Host: a b\r\n",
        "Host: a/b\r\n",
        "Host: a,b\r\n",
        "Host: a@b\r\n",
        "Host: a:b\r\n",
        "Host: a:999999\r\n",
        "Host: [::1\r\n",
        "Host: []\r\n",
        "Host: http://a\r\n",
        "Host: a?b\r\n",
        "Host: a#b\r\n",
        "Host: \xc3\xa9\r\n",
        "Host: :80\r\n",
        "Host: <script>\r\n"}) {
    kind.Wrong({400}, with(headers));
  }
  for (const char* headers :
       {"Host: a:80\r\n",
        "Host: [::1]:80\r\n",
        "Host: 127.0.0.1\r\n",
        "Host: a_b.c-d\r\n",
        "Host: a:\r\n"}) {
    kind.Right(with(headers));
  }
  return kind.Done();
}

RawKind ContentLengths() {
  Kind kind("content lengths");
  for (const char* value :
       {"",
        "-1",
        "+2",
        "2 ",
        " 2x",
        "0x2",
        "2,2",
        "2, 2",
        "2,3",
        "2 2",
        "2.0",
        "2e0",
        "two",
        "\xb2",
        "2;",
        "\"2\"",
        ",2",
        "2,",
        "--2",
        "99999999999999999999",
        "18446744073709551616",
        "NaN",
        "0b1",
        "1_0"}) {
    if (std::string_view(value) == "2 ") {
      kind.Right(
          WithHeaders("Content-Length: 2 \r\n", "ok"), "ok"
      );  // white space around a value is not part of it
    } else {
      kind.Wrong({400, 413}, WithHeaders(std::string("Content-Length: ") + value + "\r\n", "ok"));
    }
  }
  for (const char* value : {
           "2001", "4294967296", "9223372036854775807", "9223372036854775808", "1844674407370955161"
       }) {
    kind.Wrong({400, 413}, WithHeaders(std::string("Content-Length: ") + value + "\r\n", "ok"));
  }
  kind.Wrong({413}, WithHeaders("Content-Length: 2001\r\n"));
  kind.Wrong({400}, WithHeaders("Content-Length: 2\r\nContent-Length: 2\r\n", "ok"));
  kind.Wrong({400}, WithHeaders("Content-Length: 2\r\nContent-Length: 3\r\n", "ok"));
  kind.Wrong({400}, WithHeaders("Content-Length: 2\r\nX: y\r\ncontent-length: 0\r\n", "ok"));
  kind.Wrong({400}, WithHeaders("Content-Length: 0\r\nContent-Length: 36\r\n"));
  return kind.Done();
}

RawKind TransferEncodings() {
  Kind kind("transfer encodings");
  const std::string body = "2\r\nok\r\n0\r\n\r\n";
  for (const char* name : {"Content-Length: 2", "content-length: 12", "Content-Length: 0"}) {
    const std::string length = std::string(name) + "\r\n";
    for (const char* coding : {"chunked", "Chunked", "identity", "gzip", "gzip, chunked"}) {
      const std::string line = std::string("Transfer-Encoding: ") + coding + "\r\n";
      kind.Wrong({400}, WithHeaders(length + line, body));
      kind.Wrong({400}, WithHeaders(line + length, body));
    }
  }
  for (const char* coding :
       {"",
        "identity",
        "gzip",
        "deflate",
        "gzip, chunked",
        "chunked, gzip",
        "chunked, chunked",
        "chunked,",
        ",chunked",
        "xchunked",
        "chunkedx",
        "chunked;q=1",
        "\"chunked\"",
        "chunked identity",
        "chun ked",
        "cow",
        "chunked\x0b",
        "chunke\xcc\x87"
        "d",
        "trailers, chunked"}) {
    kind.Wrong({400, 501}, WithHeaders(std::string("Transfer-Encoding: ") + coding + "\r\n", body));
  }
  kind.Wrong(
      {400}, WithHeaders("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", body)
  );
  kind.Wrong(
      {400}, WithHeaders("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", body)
  );
  kind.Wrong(
      {400}, WithHeaders("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", body)
  );
  kind.Wrong({400}, WithHeaders("Transfer-Encoding:\r\n chunked\r\n", body));
  kind.Wrong({400}, "POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body);
  kind.Wrong(
      {400},
      "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n" + body
  );
  kind.Right(WithHeaders("Transfer-Encoding: CHUNKED\r\n", body), "ok");
  kind.Right(WithHeaders("Transfer-Encoding: \t chunked \t\r\n", body), "ok");
  kind.Right(WithHeaders("TE: trailers\r\nTransfer-Encoding: chunked\r\n", body), "ok");
  return kind.Done();
}

RawKind Chunks() {
  Kind kind("chunks");
  for (const char* body :
       {"2 \r\nok\r\n0\r\n\r\n",
        " 2\r\nok\r\n0\r\n\r\n",
        "+2\r\nok\r\n0\r\n\r\n",
        "-2\r\nok\r\n0\r\n\r\n",
        "0x2\r\nok\r\n0\r\n\r\n",
        "g\r\nok\r\n0\r\n\r\n",
        "\r\nok\r\n0\r\n\r\n",
        "2\nok\n0\n\n",
        "2\r\nok\n0\r\n\r\n",
        "2\nok\r\n0\r\n\r\n",
        "2\rok\r\n0\r\n\r\n",
        "2\r\nokok\r\n0\r\n\r\n",
        "2\r\no\r\n0\r\n\r\n",
        "2\r\nok0\r\n\r\n",
        "2;\r\nok\r\n0\r\n\r\n",
        "2;=b\r\nok\r\n0\r\n\r\n",
        "2;a=\r\nok\r\n0\r\n\r\n",
        "2;a=\"b\r\nok\r\n0\r\n\r\n",
        "2;a\nb\r\nok\r\n0\r\n\r\n",
        "2;a=\"\n\"\r\nok\r\n0\r\n\r\n",
        "2;a=\"\x01\"\r\nok\r\n0\r\n\r\n",
        "2\r\nok\r\n0\r\nContent-Length: 99\r\n\r\n",
        "2\r\nok\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "2;a=\"b;c\"\r\nok\r\n0\r\n\r\n",
        "2;a b\r\nok\r\n0\r\n\r\n",
        "2,2\r\nok\r\n0\r\n\r\n",
        "2.0\r\nok\r\n0\r\n\r\n",
        "10000000000000000\r\nok\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nok\r\n",
        "2\r\nok\r\n0\r\nno colon\r\n\r\n",
        "2\r\nok\r\n0\r\nA : b\r\n\r\n",
        "2\r\nok\r\n0\r\nA: \x01\r\n\r\n",
        "2\r\nok\r\n0\r\n: b\r\n\r\n",
        "2\r\nok\r\n0\n\r\n",
        "2\r\nok\r\n0 \r\n\r\n",
        "2\r\nok\r\n00x\r\n\r\n",
        "2\r\nok\r\n-0\r\n\r\n",
        "2\r\nok\r\nGET / HTTP/1.1\r\n\r\n"}) {
    kind.Wrong({400}, kChunkedHead + body);
  }
  kind.Wrong({400, 413}, kChunkedHead + "ffffffffffffffff\r\nok\r\n0\r\n\r\n");
  kind.Wrong({400, 413}, kChunkedHead + "7fffffffffffffff\r\nok\r\n0\r\n\r\n");
  kind.Wrong({413}, kChunkedHead + "7d1\r\n");
  kind.Wrong({413}, kChunkedHead + "7d0\r\n" + std::string(2000, 'c') + "\r\n1\r\nc\r\n0\r\n\r\n");
  kind.Wrong({400, 431}, kChunkedHead + std::string(30'000, '0'));
  kind.Wrong({400, 431}, kChunkedHead + "2;" + std::string(30'000, 'e') + "\r\nok\r\n0\r\n\r\n");
  kind.Wrong({431}, kChunkedHead + "0\r\nA: " + std::string(30'000, 't') + "\r\n\r\n");
  std::string trailers = kChunkedHead + "0\r\n";
  for (std::size_t i = 0; i <= kRawHeaders; ++i) {
    trailers += "A: b\r\n";
  }
  kind.Wrong({431}, trailers + "\r\n");
  for (const char* body :
       {"2\r\nok\r\n0\r\n\r\n",
        "002\r\nok\r\n000\r\n\r\n",
        "1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        "2;a\r\nok\r\n0;b=c\r\n\r\n",
        "2 ; a = b\r\nok\r\n0\r\n\r\n",
        "2\r\nok\r\n0\r\nHost: b\r\nConnection: close\r\n\r\n"}) {
    kind.Right(kChunkedHead + body, "ok");
  }
  kind.Right(kChunkedHead + "A\r\n0123456789\r\n0\r\n\r\n", "0123456789");
  return kind.Done();
}

RawKind Expectations() {
  Kind kind("expectations");
  for (const char* value :
       {"", "100", "200-ok", "100-continue, 100-continue", "continue", "100-continue;a=b"}) {
    kind.Wrong(
        {417}, WithHeaders(std::string("Expect: ") + value + "\r\nContent-Length: 2\r\n", "ok")
    );
  }
  kind.Wrong(
      {417},
      WithHeaders("Expect: 100-continue\r\nExpect: 100-continue\r\nContent-Length: 2\r\n", "ok")
  );
  kind.Wrong({413}, WithHeaders("Expect: 100-continue\r\nContent-Length: 5000\r\n"));
  kind.Right(WithHeaders("Expect: 100-CONTINUE\r\nContent-Length: 2\r\n", "ok"), "ok");
  kind.Right("POST /echo HTTP/1.0\r\nExpect: anything\r\nContent-Length: 2\r\n\r\nok", "ok");
  return kind.Done();
}

RawKind Limits() {
  Kind kind("limits");
  const std::string line(kRawRequestLineBytes, 'a');
  kind.Wrong({414}, Get("/" + line));
  kind.Wrong({414}, "GET /" + line + line);
  kind.Wrong({414}, line + line);
  kind.Wrong({414}, Get("/?" + line));
  const std::string half(kRawHeadBytes / 2, 'h');
  kind.Wrong({431}, WithHeaders("A: " + half + "\r\nB: " + half + "\r\n"));
  kind.Wrong({431}, WithHeaders(half + half + ": a\r\n"));
  kind.Wrong({431}, "GET /echo HTTP/1.1\r\nHost: " + half + half + half);
  std::string many = "GET /echo HTTP/1.1\r\nHost: a\r\n";
  for (std::size_t i = 0; i < kRawHeaders; ++i) {
    many += "A:\r\n";
  }
  kind.Wrong({431}, many + "\r\n");
  kind.Wrong({413}, WithHeaders("Content-Length: 2001\r\n", std::string(2001, 'b')));
  kind.Right(
      WithHeaders("Content-Length: 2000\r\n", std::string(2000, 'b')), std::string(2000, 'b')
  );
  return kind.Done();
}

RawKind OtherProtocols() {
  Kind kind("other protocols");
  kind.Wrong(
      {400},
      std::string("\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03", 11) + std::string(160, '\xaa')
  );
  kind.Wrong({400, 501, 505}, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  kind.Wrong({400}, "SSH-2.0-OpenSSH_9.2\r\n");
  kind.Wrong({400}, std::string("\x05\x01\x00", 3));
  kind.Wrong({400}, "EHLO a\r\n");
  kind.Wrong({400}, "*1\r\n$4\r\nPING\r\n");
  kind.Wrong({400}, "{\"jsonrpc\":\"2.0\"}\r\n");
  kind.Wrong({400}, "RTSP\r\n");
  kind.Wrong({400}, "OPTIONS rtsp://a RTSP/1.0\r\n\r\n");
  kind.Wrong({400}, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  std::mt19937 random(7);  // the same bytes in every run
  for (int i = 0; i < 30; ++i) {
    std::string bytes(200, ' ');
    for (char& c : bytes) {
      c = static_cast<char>(random() & 0xff);
    }
    kind.Wrong({400, 414}, bytes + "\r\n");
  }
  return kind.Done();
}

// A right request, ended after every one of its bytes but the last.
RawKind CutRequests() {
  Kind kind("cut requests");
  for (const std::string& right :
       {WithHeaders("Content-Length: 11\r\n", "hello world"),
        kChunkedHead + "5\r\nhello\r\n0\r\nA: b\r\n\r\n"}) {
    for (std::size_t bytes = 1; bytes < right.size(); ++bytes) {
      kind.Wrong({400}, right.substr(0, bytes));
    }
  }
  kind.Wrong({0}, "");
  kind.Wrong({0}, "\r\n");
  return kind.Done();
}

}  // namespace

std::vector<RawKind> RawKinds() {
  return {
      RightRequests(),
      LineEnds(),
      ControlCharacters(),
      HeaderLines(),
      RequestLines(),
      Targets(),
      Hosts(),
      ContentLengths(),
      TransferEncodings(),
      Chunks(),
      Expectations(),
      Limits(),
      OtherProtocols(),
      CutRequests(),
  };
}

}  // namespace hearth
