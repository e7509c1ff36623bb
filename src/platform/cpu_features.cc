#include "platform/cpu_features.h"

#include <algorithm>
#include <fstream>

#include "contracts/printable.h"
#include "hearth/error.h"
#include "platform/amx_probe.h"

namespace hearth {
namespace {

constexpr Isa kIsas[] = {Isa::kPortable, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAmx};

// Whether the processor and its operating system run what `isa` adds to the one before it.
bool Adds(Isa isa) {
#if defined(__x86_64__) && !defined(HEARTH_PORTABLE_ONLY)
  switch (isa) {
    case Isa::kPortable:
      return true;
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c");
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case Isa::kAvx512Vnni:
      return __builtin_cpu_supports("avx512vnni");
    case Isa::kAmx:
      return __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("gfni") && ProbeAmx();
  }
  return false;
#else
  return isa == Isa::kPortable;
#endif
}

std::vector<Isa> FindIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : kIsas) {
    if (!Adds(isa)) {
      break;
    }
    isas.push_back(isa);
  }
  return isas;
}

}  // namespace

std::string_view IsaName(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512-vnni";
    case Isa::kAmx:
      return "amx";
  }
  return "unknown";
}

std::string IsaNames() {
  std::string names;
  for (const Isa isa : kIsas) {
    names += (names.empty() ? "" : ", ") + std::string(IsaName(isa));
  }
  return names;
}

Isa IsaFromName(std::string_view name) {
  for (const Isa isa : kIsas) {
    if (name == IsaName(isa)) {
      return isa;
    }
  }
  throw Error(
      ErrorCode::kInvalidArgument, "isa: got '" + Printable(name) + "', wanted one of " + IsaNames()
  );
}

const std::vector<Isa>& AttainableIsas() {
  static const std::vector<Isa> isas = FindIsas();
  return isas;
}

Isa ChooseIsa(std::string_view forced) {
  const std::vector<Isa>& attainable = AttainableIsas();
  if (forced.empty()) {
    return attainable.back();
  }
  const Isa wanted = IsaFromName(forced);
  if (std::find(attainable.begin(), attainable.end(), wanted) == attainable.end()) {
    throw Error(
        ErrorCode::kUnsupported,
        "isa: got '" + std::string(IsaName(wanted)) +
            "', but this machine or build attains only up to " +
            std::string(IsaName(attainable.back()))
    );
  }
  return wanted;
}

std::string CpuModelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace hearth
