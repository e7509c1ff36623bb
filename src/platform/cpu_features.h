// What the processor can do, asked once. Knows instruction sets, not kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {

// Instruction sets that kernels are written for, weakest first: a later one includes the earlier.
enum class Isa {
  kPortable,  // plain C++; runs everywhere
  kAvx512,    // AVX-512 F, BW, DQ, VL and VNNI
};

// "portable", "avx512". Never fails.
std::string_view IsaName(Isa isa);

// The name's instruction set. Errors: kInvalidArgument with the names that exist.
Isa IsaFromName(std::string_view name);

// Every instruction set that this build holds and this processor with its operating system runs,
// weakest first; never empty. Cost: a few CPUID instructions.
std::vector<Isa> AttainableIsas();

// The instruction set to use: the strongest attainable one, or the one that `forced` names ("" for
// none). Errors: kInvalidArgument for an unknown name, kUnsupported when the machine lacks it.
Isa ChooseIsa(std::string_view forced);

// The processor's own name, for reports; "unknown" when it has none.
std::string CpuModelName();

// Cores that this process may use: its affinity mask, limited by the control group's quota; at least 1.
int UsableCores();

}  // namespace hearth
