// Seeds, keys and uniform numbers without state: a draw depends on its seed and its step, never on the
// draws before it, so that a row can be resumed, replayed or moved anywhere.
#pragma once

#include <cstdint>

namespace hearth {

// One well-mixed word of two. For a fixed seed it is a bijection of the counter, so the keys of one stream
// never repeat. The seed is mixed before the counter is added: with a plain sum, two seeds that differ by a multiple
// of the increment would give the same stream, shifted.
// Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64: increment
//         2^64 / golden ratio, made odd, which spreads small counters over all bits), with the finalizer that Stafford
//         found best of its kind ("Mix13", 2011).
std::uint64_t Mix(std::uint64_t seed, std::uint64_t counter);

// The seed of choice `choice` of a request with n choices, whatever n is.
std::uint64_t ChoiceSeed(std::uint64_t request_seed, std::uint32_t choice);

// A number in [0, 1): the key's upper 53 bits.
double Uniform(std::uint64_t key);

}  // namespace hearth
