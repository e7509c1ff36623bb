#include "sampling/seed.h"

namespace hearth {
namespace {

constexpr std::uint64_t kIncrement = 0x9e3779b97f4a7c15ULL;

std::uint64_t Finalize(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  return bits ^ (bits >> 31);
}

}  // namespace

std::uint64_t Mix(std::uint64_t seed, std::uint64_t counter) {
  // Plus one each: zero would stay zero.
  return Finalize(Finalize(seed + kIncrement) + (counter + 1) * kIncrement);
}

std::uint64_t ChoiceSeed(std::uint64_t request_seed, std::uint32_t choice) {
  return Mix(request_seed, choice);
}

double Uniform(std::uint64_t key) {
  return static_cast<double>(key >> 11) * 0x1p-53;
}

}  // namespace hearth
