// The line before a chunk's data, looked at before it is parsed.
#pragma once

#include <string_view>

namespace hearth {

// Whether `bytes` can be the beginning of a chunk's line: after a chunk (`follows`) its CR LF, then hexadecimal digits, then
// extensions without control characters and without quotes, then CR LF; what comes after that is not looked at. Quoted values are in
// the grammar, but nobody sends them, and a quote that goes on beyond the line is what parsers disagree about.
// Cost: one pass over the line.
bool MayBeChunkLine(std::string_view bytes, bool follows);

}  // namespace hearth
