#include "kernels/attention.h"

#include <cstring>

namespace hearth {
namespace {

template <std::size_t kBytes>
void Store(const StoreKvArgs& args) {
  const std::size_t dims = args.padded_dim;
  std::byte* keys = args.page + (args.slot / 16 * 16 * dims + args.slot % 16 * 2) * kBytes;
  std::byte* values =
      args.page + (kPageTokens * dims + args.slot / 2 * 2 * dims + args.slot % 2) * kBytes;
  for (std::size_t d = 0; d < dims; d += 2) {
    std::memcpy(keys + d / 2 * 32 * kBytes, args.k + d * kBytes, 2 * kBytes);
  }
  for (std::size_t d = 0; d < dims; ++d) {
    std::memcpy(values + 2 * d * kBytes, args.v + d * kBytes, kBytes);
  }
}

}  // namespace

void StoreKv(const StoreKvArgs& args) {
  args.storage == KvStorage::kBF16 ? Store<2>(args) : Store<4>(args);
}

}  // namespace hearth
