#include "platform/read_probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "platform/aligned_buffer.h"

namespace hearth {
namespace {

// Eight independent sums keep enough loads in flight.
std::uint64_t Sum(const std::uint64_t* words, std::size_t count) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= count; i += 8) {
    for (std::size_t j = 0; j < 8; ++j) {
      sums[j] += words[i + j];
    }
  }
  std::uint64_t total = 0;
  for (const std::uint64_t sum : sums) {
    total += sum;
  }
  return total;
}

}  // namespace

double ProbePlainRead(WorkerTeam& team, std::size_t bytes, int repeats) {
  AlignedBuffer<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  team.ForRanges(words.size(), 4096, [&](std::size_t begin, std::size_t end, int) {
    std::fill(words.data() + begin, words.data() + end, begin);
  });
  std::atomic<std::uint64_t> sink = 0;
  double best = 0;
  for (int pass = 0; pass <= repeats; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    team.ForRanges(words.size(), 4096, [&](std::size_t begin, std::size_t end, int) {
      sink += Sum(words.data() + begin, end - begin);
    });
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(bytes) / time.count());
  }
  return best;
}

}  // namespace hearth
