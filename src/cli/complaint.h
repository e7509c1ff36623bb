// The program's one line for what went wrong.
#pragma once

#include <string_view>

namespace hearth {

// Writes "hearth: <message>" to standard error, as one printable line of bounded length. Never fails: when standard error
// cannot be written there is nobody to tell.
void Complain(std::string_view message) noexcept;

}  // namespace hearth
