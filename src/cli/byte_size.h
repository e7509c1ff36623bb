// Sizes as people write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace hearth {

// "1048576", "512M", "4G", "1.5GiB", "800MB": a decimal number and a unit, in either case. K, M, G, T and KiB .. TiB are powers
// of 1024, KB .. TB of 1000; without a unit bytes. Fractions of a byte are dropped.
// Errors: kInvalidArgument showing `name` and the text, for anything else, less than a byte, or 2^60 bytes and more.
std::size_t ParseByteSize(std::string_view text, std::string_view name);

// "712 kB", "138.2 MB", "23.94 GB": powers of 1000.
std::string FormatByteSize(std::size_t bytes);

}  // namespace hearth
