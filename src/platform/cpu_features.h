// What the processor can do, asked once. Knows instruction sets, not kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Instruction sets that kernels are written for, weakest first: a later one includes the earlier.
enum class Isa {
  kPortable,    // plain C++; runs everywhere
  kAvx2,        // AVX2, FMA, F16C
  kAvx512,      // AVX-512 F, BW, DQ, VL
  kAvx512Vnni,  // byte dot products: AVX512_VNNI
  kAmx,         // tiles of bfloat16 and bytes: AMX_TILE, AMX_BF16, AMX_INT8, and AVX512_BF16, GFNI
};

// "portable", "avx2", "avx512", "avx512-vnni", "amx". Never fails.
std::string_view IsaName(Isa isa);

// All names, weakest first, for messages: "portable, avx2, ...".
std::string IsaNames();

// The name's instruction set. Errors: kInvalidArgument with the names that exist.
Isa IsaFromName(std::string_view name);

// Every instruction set that this build holds and this processor with its operating system runs,
// weakest first; never empty. The first call finds out (amx_probe.h) and is made before other threads
// mind SIGILL; later calls return what it found.
const std::vector<Isa>& AttainableIsas();

// The instruction set to use: the strongest attainable one, or the one that `forced` names ("" for
// none). Errors: kInvalidArgument for an unknown name, kUnsupported when the machine lacks it.
Isa ChooseIsa(std::string_view forced);

// The processor's own name, for reports; "unknown" when it has none.
std::string CpuModelName();

}  // namespace hearth
