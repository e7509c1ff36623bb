// Tiles for the AMX kernels: eight registers of 16 rows by 64 bytes, in inline assembly that says what it reads
// and writes. (GCC's intrinsics do not: stores before a tile load, and the configuration itself, can vanish.)
// Everything is static, as in avx512/vector_internal.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::amx {

constexpr std::size_t kTileDim = 16;      // rows of a tile
constexpr std::size_t kTileBytes = 1024;  // a tile laid down row after row

namespace {

// Configures this thread's tiles, all eight of 16 rows by 64 bytes, for its lifetime; the tiles hold zero
// at first. One at a time, around a kernel's whole work: both ends together cost about 100 ns.
class TileScope {
 public:
  TileScope() {
    Config config;
    asm volatile("ldtilecfg %0" : : "m"(config) : "memory");
  }

  ~TileScope() { asm volatile("tilerelease" : : : "memory"); }

  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  struct alignas(64) Config {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
};

// Tile kTile = 0.
template <int kTile>
inline __attribute__((always_inline)) void TileZero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

// Reads 16 rows of 64 bytes, `stride` bytes apart.
template <int kTile>
inline __attribute__((always_inline)) void TileLoad(const void* from, std::size_t stride) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
}

// Writes 16 rows of 64 bytes, `stride` bytes apart.
template <int kTile>
inline __attribute__((always_inline)) void TileStore(void* to, std::size_t stride) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
}

// kSum [16][16] float32 += kA [16][32] bfloat16 times kB [16 pairs][16][2] bfloat16, in the order of
// matmul_float.h.
template <int kSum, int kA, int kB>
inline __attribute__((always_inline)) void TileProductBf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
}

// kSum [16][16] int32 += kA [16][64] signed bytes times kB [16 quads][16][4] signed bytes.
template <int kSum, int kA, int kB>
inline __attribute__((always_inline)) void TileProductSigned() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
}

// The same with unsigned bytes in kB.
template <int kSum, int kA, int kB>
inline __attribute__((always_inline)) void TileProductUnsigned() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
}

}  // namespace
}  // namespace hearth::amx
