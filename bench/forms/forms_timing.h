// The three forms of the quantized product side by side: first that they are what they say, then how long they take.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contracts/element_type.h"
#include "platform/cpu_features.h"
#include "platform/worker_team.h"

namespace hearth::forms {

inline constexpr ElementType kFormats[] = {
    ElementType::kQ4_1,
    ElementType::kQ4_0,
    ElementType::kQ4_K,
    ElementType::kQ8_0,
    ElementType::kQ6_K
};
inline constexpr std::size_t kRowCounts[] = {1, 8, 32, 512};
// The instruction sets that are compared.
inline constexpr Isa kIsas[] = {Isa::kAmx, Isa::kAvx512Vnni, Isa::kAvx2};

bool IsAttainable(Isa isa);

// Compares every form of every format on every attainable instruction set with the portable one, for several counts of
// rows; returns how many results were compared.
// Errors: kInternal naming the first that differs.
std::size_t CheckForms(WorkerTeam& team);

struct Spread {
  double median;
  double least;
  double most;
};

// Seconds of one product of a whole matrix.
struct Timing {
  ElementType format;
  Isa isa;
  std::size_t rows;
  std::string form;  // "I", "G", "R"
  std::size_t weight_bytes;
  Spread seconds;
};

struct TimingOptions {
  std::size_t outputs = 8192;  // a multiple of 32
  std::size_t inputs = 2048;   // a multiple of 256
  std::size_t bytes = std::size_t{512}
                      << 20;  // of weights in all copies: more than the caches hold
  int rounds = 5;
};

// Forms take turns within a round. One row goes through every copy of the weights; more rows through fewer.
// `done` is called after each format.
// Cost: the options' bytes, and seconds to minutes.
std::vector<Timing> TimeForms(
    WorkerTeam& team, const TimingOptions& options, const std::function<void()>& done
);

// What the machine can do at most, measured by doing nothing else.
struct Probes {
  double read_bytes;     // a second
  double int8_products;  // multiplications and additions a second, on tiles; 0 without
  double bf16_products;
};

Probes ProbeMachine(WorkerTeam& team, std::size_t bytes);

}  // namespace hearth::forms
