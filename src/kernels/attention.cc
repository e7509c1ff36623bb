#include "kernels/attention.h"

#include <bit>
#include <cstring>

#include "kernels/half.h"

namespace hearth {
namespace {

void StoreValue(std::byte* page, KvStorage storage, std::size_t index, float value) {
  if (storage == KvStorage::kF32) {
    std::memcpy(page + 4 * index, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = FloatToBf16(value);
  std::memcpy(page + 2 * index, &bits, sizeof bits);
}

}  // namespace

void StoreKv(const StoreKvArgs& args) {
  const std::size_t keys = args.slot / 16 * 16 * args.padded_dim + args.slot % 16 * 2;
  const std::size_t values =
      kPageTokens * args.padded_dim + args.slot / 2 * 2 * args.padded_dim + args.slot % 2;
  for (std::size_t d = 0; d < args.padded_dim; ++d) {
    const bool real = d < args.head_dim;
    StoreValue(args.page, args.storage, keys + d / 2 * 32 + d % 2, real ? args.k[d] : 0.0f);
    StoreValue(args.page, args.storage, values + 2 * d, real ? args.v[d] : 0.0f);
  }
}

}  // namespace hearth
