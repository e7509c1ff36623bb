#include "text/utf8_stream.h"

namespace hearth {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Whether `byte` can follow the lead byte directly: some leads leave out overlong forms, surrogates and
// what lies past U+10FFFF.
bool CanFollowLead(unsigned char lead, unsigned char byte) {
  const unsigned char first = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char last = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  return byte >= first && byte <= last;
}

}  // namespace

void Utf8Stream::Push(std::string_view bytes, std::string& out) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (size_ == 0) {
      Start(byte, out);
      continue;
    }
    const auto lead = static_cast<unsigned char>(pending_[0]);
    const bool fits = size_ == 1 ? CanFollowLead(lead, byte) : byte >= 0x80 && byte <= 0xbf;
    if (!fits) {
      out += kReplacement;
      size_ = 0;
      Start(byte, out);
      continue;
    }
    pending_[size_++] = c;
    if (size_ == wanted_) {
      out.append(pending_.data(), size_);
      size_ = 0;
    }
  }
}

void Utf8Stream::Finish(std::string& out) {
  if (size_ > 0) {
    out += kReplacement;
    size_ = 0;
  }
}

void Utf8Stream::Start(unsigned char byte, std::string& out) {
  if (byte < 0x80) {
    out += static_cast<char>(byte);
    return;
  }
  wanted_ = byte >= 0xc2 && byte <= 0xdf   ? 2
            : byte >= 0xe0 && byte <= 0xef ? 3
            : byte >= 0xf0 && byte <= 0xf4 ? 4
                                           : 0;
  if (wanted_ == 0) {
    out += kReplacement;
    return;
  }
  pending_[0] = static_cast<char>(byte);
  size_ = 1;
}

}  // namespace hearth
