#include "hearth/error.h"

namespace hearth {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kCorruptData:
      return "corrupt_data";
    case ErrorCode::kResourceExhausted:
      return "resource_exhausted";
    case ErrorCode::kOverloaded:
      return "overloaded";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace hearth
