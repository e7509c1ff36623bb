// The access log: one line a request, without what it said.
#pragma once

#include <string>

#include "server/http/http_service.h"

namespace hearth {

// `127.0.0.1 POST /v1/chat/completions 200 1234 bytes 56.789 ms ID`, with "-" for what is not known and " cut off" at the end of an
// answer that did not arrive whole. Never the query, a header or a body: they may hold what a user wrote. The path is cut
// to 200 bytes.
std::string AccessLogLine(const HttpRecord& record);

// Writes the line as kInfo, if anybody reads that.
void LogAccess(const HttpRecord& record) noexcept;

}  // namespace hearth
