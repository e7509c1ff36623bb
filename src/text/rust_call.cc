#include "text/rust_call.h"

#include <fmt/core.h>

#include "contracts/printable.h"
#include "hearth/error.h"

namespace hearth {
namespace {

constexpr std::size_t kMaxMessageBytes = 1000;

ErrorCode CodeOf(HearthFaultCode code) {
  switch (code) {
    case kHearthInvalidArgument:
    case kHearthTemplateRaised:
    case kHearthTemplateFailed:
      return ErrorCode::kInvalidArgument;
    case kHearthCorruptData:
      return ErrorCode::kCorruptData;
    case kHearthUnsupported:
      return ErrorCode::kUnsupported;
    case kHearthResourceExhausted:
      return ErrorCode::kResourceExhausted;
    case kHearthNoFault:
    case kHearthInternal:
      break;
  }
  return ErrorCode::kInternal;
}

}  // namespace

void RustFault::Throw(std::string_view where) const {
  throw Error(
      CodeOf(fault_.code), fmt::format("{}: {}", where, Printable(message(), kMaxMessageBytes))
  );
}

}  // namespace hearth
