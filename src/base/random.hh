// SPDX-License-Identifier: LGPL-3.0-or-later
// Randomness is injected: a seeded generator in tests and simulation, one seeded by the kernel in programs.
#pragma once

#include <cstdint>

namespace xec {

// SplitMix64: one 64-bit state, every seed good. Source: Steele, Lea, Flood, OOPSLA 2014.
constexpr uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Not thread-safe; one per owner.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    const uint64_t value = Mix64(state_);
    state_ += 0x9e3779b97f4a7c15ull;
    return value;
  }
  // Uniform in [0, bound); bound > 0. The bias for bounds far below 2^64 does not matter here.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

// A seed from the kernel (getrandom).
uint64_t SystemSeed();

}  // namespace xec
