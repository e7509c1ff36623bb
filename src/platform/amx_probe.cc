#include "platform/amx_probe.h"

#if defined(__x86_64__) && !defined(HEARTH_PORTABLE_ONLY)

#include <sys/syscall.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>

namespace hearth {
namespace {

constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;               // XFEATURE_XTILEDATA

sigjmp_buf probe_start;

void LeaveProbe(int /*signal*/) {
  siglongjmp(probe_start, 1);
}

// Tile configuration, palette 1, as the processor reads it.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

// One 16 x 16 product of ones over 64 bytes a row, bfloat16 and int8. Inline assembly, because the file is
// compiled for every machine.
bool ProductsAreRight() {
  alignas(64) std::uint16_t halves[16][32];
  alignas(64) std::uint8_t bytes[16][64];
  alignas(64) float floats[16][16];
  alignas(64) std::int32_t integers[16][16];
  TileConfig config;
  for (int i = 0; i < 3; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = 16;
  }
  for (int row = 0; row < 16; ++row) {
    for (int i = 0; i < 64; ++i) {
      halves[row][i / 2] = 0x3f80;  // 1
      bytes[row][i] = 1;
    }
    for (int i = 0; i < 16; ++i) {
      floats[row][i] = 0.0f;
      integers[row][i] = 0;
    }
  }
  asm volatile(
      "ldtilecfg %[config]\n\t"
      "tilezero %%tmm0\n\t"
      "tileloadd (%[halves],%[stride],1), %%tmm1\n\t"
      "tileloadd (%[halves],%[stride],1), %%tmm2\n\t"
      "tdpbf16ps %%tmm2, %%tmm1, %%tmm0\n\t"
      "tilestored %%tmm0, (%[floats],%[stride],1)\n\t"
      "tilezero %%tmm0\n\t"
      "tileloadd (%[bytes],%[stride],1), %%tmm1\n\t"
      "tileloadd (%[bytes],%[stride],1), %%tmm2\n\t"
      "tdpbusd %%tmm2, %%tmm1, %%tmm0\n\t"
      "tilestored %%tmm0, (%[integers],%[stride],1)\n\t"
      "tilerelease"
      :
      : [config] "m"(config),
        [stride] "r"(std::int64_t{64}),
        [halves] "r"(halves),
        [bytes] "r"(bytes),
        [floats] "r"(floats),
        [integers] "r"(integers)
      : "memory"
  );
  bool right = true;
  for (int row = 0; row < 16; ++row) {
    for (int i = 0; i < 16; ++i) {
      right = right && floats[row][i] == 32.0f && integers[row][i] == 64;
    }
  }
  return right;
}

}  // namespace

bool ProbeAmx() {
  if (!__builtin_cpu_supports("amx-tile") || !__builtin_cpu_supports("amx-int8") ||
      !__builtin_cpu_supports("amx-bf16")) {
    return false;
  }
  if (syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0) {
    return false;
  }
  struct sigaction handler = {};
  struct sigaction before = {};
  handler.sa_handler = LeaveProbe;
  sigemptyset(&handler.sa_mask);
  if (sigaction(SIGILL, &handler, &before) != 0) {
    return false;
  }
  volatile bool right = false;
  if (sigsetjmp(probe_start, 1) == 0) {
    right = ProductsAreRight();
  }
  sigaction(SIGILL, &before, nullptr);
  return right;
}

}  // namespace hearth

#else

namespace hearth {

bool ProbeAmx() {
  return false;
}

}  // namespace hearth

#endif
