// Bytes from outside made fit for a one-line message. Every error text that quotes a file, a request or
// a peer goes through here, so that no such byte can break a line, a terminal or a JSON writer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// Valid UTF-8 stays as it is; control characters, the backslash and bytes that are not UTF-8 become \xNN.
// More than `max_bytes` of input is cut (between characters) and ends in "...".
// Errors: none. Cost: one pass over at most max_bytes.
std::string Printable(std::string_view bytes, std::size_t max_bytes = 80);

}  // namespace hearth
