// Microseconds that one row takes to sample: vocabularies and settings that people use, on every instruction set.
//
// usage: sampling_bench [SECONDS]     SECONDS for each number, 0.3 unless given
//
// Prints the best of many rows: the machine's noise only ever adds. The logits are made here: most tokens far below
// a few, as a model's are ("peaked"), or spread so wide that top_p keeps thousands ("flat"). They lie in the cache,
// as they do right after the model's last product.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "sampling/sampler.h"
#include "sampling/seed.h"

namespace hearth {
namespace {

using Clock = std::chrono::steady_clock;

// A sum of twelve uniform numbers is near enough to a normal one.
std::vector<float> Logits(std::size_t vocabulary, bool peaked) {
  std::vector<float> logits(vocabulary);
  for (std::size_t i = 0; i < vocabulary; ++i) {
    double value = -6;
    for (std::uint64_t j = 0; j < 12; ++j) {
      value += Uniform(Mix(j, i));
    }
    logits[i] = static_cast<float>(2 * value);
  }
  for (std::uint64_t i = 0; peaked && i < 40; ++i) {
    logits[Mix(99, i) % vocabulary] += static_cast<float>(8 + 8 * Uniform(Mix(98, i)));
  }
  return logits;
}

double BestMicroseconds(Sampler& sampler, const std::vector<float>& logits, double seconds) {
  const Clock::time_point start = Clock::now();
  double best = 1e9;
  std::vector<float> row;
  for (std::uint64_t step = 0; Clock::now() - start < std::chrono::duration<double>(seconds);
       ++step) {
    row = logits;
    const Clock::time_point before = Clock::now();
    sampler.Sample(row, {}, step);
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - before).count());
  }
  return best;
}

void Run(double seconds) {
  struct Setting {
    const char* name;
    bool peaked;
    SamplingParameters parameters;
  };

  const SamplingParameters usual = {.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05};
  SamplingParameters usual_reported = usual;
  usual_reported.top_logprobs = 20;
  const std::vector<Setting> settings = {
      {"greedy", true, {}},
      {"greedy, logprobs 20", true, {.top_logprobs = 20}},
      {"temperature", true, {.temperature = 0.8}},
      {"top_k 40", true, {.temperature = 0.8, .top_k = 40}},
      {"top_p 0.95", true, {.temperature = 0.8, .top_p = 0.95}},
      {"top_p 0.95, flat", false, {.temperature = 0.8, .top_p = 0.95}},
      {"min_p 0.05", true, {.temperature = 0.8, .min_p = 0.05}},
      {"top_k, top_p, min_p", true, usual},
      {"the same, logprobs 20", true, usual_reported},
      {"the same, flat", false, usual_reported},
  };
  for (const Isa isa : AttainableIsas()) {
    if (isa > Isa::kAvx512) {
      break;  // sampling has no kernels of its own above
    }
    fmt::print("{:<24}{:>10}{:>10}{:>10}   us a row\n", IsaName(isa), 49152, 128256, 262144);
    for (const Setting& setting : settings) {
      fmt::print("{:<24}", setting.name);
      for (const std::size_t vocabulary : {49152U, 128256U, 262144U}) {
        Sampler sampler(setting.parameters, 1, {.size = vocabulary}, SamplingKernelsFor(isa));
        const double best = BestMicroseconds(sampler, Logits(vocabulary, setting.peaked), seconds);
        fmt::print("{:>10.1f}", best);
      }
      fmt::print("\n");
    }
  }
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  hearth::Run(argc > 1 ? std::strtod(argv[1], nullptr) : 0.3);
}
