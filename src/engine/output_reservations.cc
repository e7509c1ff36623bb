#include "engine/output_reservations.h"

#include <string>

#include "hearth/error.h"

namespace hearth {

Owned<std::uint64_t> OutputReservations::Reserve(std::uint64_t tokens) {
  if (tokens > max_tokens_) {
    throw Error(
        ErrorCode::kResourceExhausted,
        "output reservation: got " + std::to_string(tokens) + " tokens, wanted at most " +
            std::to_string(max_tokens_)
    );
  }
  const std::uint64_t left = max_tokens_ - reserved();
  if (tokens > left) {
    throw Error(
        ErrorCode::kOverloaded,
        "output reservation: got " + std::to_string(tokens) + " tokens, wanted at most the " +
            std::to_string(left) + " that are left of " + std::to_string(max_tokens_)
    );
  }
  reserved_.fetch_add(tokens, std::memory_order_relaxed);
  return {tokens, [this](std::uint64_t released) {
            reserved_.fetch_sub(released, std::memory_order_relaxed);
          }};
}

}  // namespace hearth
