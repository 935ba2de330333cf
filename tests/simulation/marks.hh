// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hh"

namespace xec::sim {

// A set of small numbers; compared and hashed by words, since the oracle does little else.
class Marks {
 public:
  explicit Marks(size_t count) : words_((count + 63) / 64) {}
  bool operator[](size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void Set(size_t i, bool value) {
    const uint64_t bit = uint64_t{1} << (i % 64);
    words_[i / 64] = value ? words_[i / 64] | bit : words_[i / 64] & ~bit;
  }
  // Those that are also in the other.
  Marks Common(const Marks& other) const {
    Marks common = *this;
    for (size_t i = 0; i < words_.size(); ++i) common.words_[i] &= other.words_[i];
    return common;
  }
  // Common(other) == common, and its hash: without making it.
  bool HasCommon(const Marks& other, const Marks& common) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != common.words_[i]) return false;
    }
    return true;
  }
  uint64_t HashOfCommon(const Marks& other) const {
    uint64_t hash = 0;
    for (size_t i = 0; i < words_.size(); ++i) hash = Mix64(hash ^ (words_[i] & other.words_[i]));
    return hash;
  }
  // Are all of these in the other?
  bool Within(const Marks& other) const {
    for (size_t i = 0; i < words_.size(); ++i) {
      if ((words_[i] & ~other.words_[i]) != 0) return false;
    }
    return true;
  }

 private:
  std::vector<uint64_t> words_;
};

}  // namespace xec::sim
