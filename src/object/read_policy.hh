// SPDX-License-Identifier: LGPL-3.0-or-later
// ReadPolicy: which chunks of one stripe to read, as answers come in. A pure state machine: no I/O, clock,
// lock.
//
//   OnStart   reads the chunks that are needed; if the server of one of them is suspect, k others instead
//   OnChunk   a bad answer is replaced at once by a chunk not asked yet
//   OnTimer   what has not answered by now is late: others are asked in its place, its answer still counts
//
// The stripe is decided as soon as all needed chunks, or any k, are good; or when even all that are not bad
// yet would be too few. No chunk is read twice, so n = k+m reads are the most there can be.
#pragma once

#include <vector>

#include "codec/reed_solomon.hh"

namespace xec {

class ReadPolicy {
 public:
  struct Stripe {
    uint32_t data_chunks = 1;    // k
    uint32_t parity_chunks = 1;  // m
    ChunkMask needed = 0;   // what the caller wants; not empty
    ChunkMask empty = 0;    // chunks without bytes: known without reading
    ChunkMask suspect = 0;  // on servers that failed lately: asked last
    ChunkMask absent = 0;   // known to be nowhere: never asked
  };

  struct Actions {
    ChunkMask start = 0;     // reads to start now
    bool arm_timer = false;  // call OnTimer after the hedging delay, unless decided before
    enum { kGoOn, kDone, kFailed } outcome = kGoOn;
  };

  explicit ReadPolicy(const Stripe& stripe);

  // Call once, first.
  Actions OnStart();
  // The read of `chunk`, started before, was good or bad. Not after the outcome.
  Actions OnChunk(uint32_t chunk, bool good);
  Actions OnTimer();

  // Read well, or empty.
  ChunkMask good() const { return good_; }
  ChunkMask bad() const { return bad_; }
  // Asked, without answer when OnTimer was called last, and still without.
  ChunkMask late() const { return late_; }

 private:
  Actions Decide();
  bool Satisfied() const;
  ChunkMask TakeUnasked(uint32_t count);

  const Stripe stripe_;
  const ChunkMask all_;
  std::vector<uint32_t> order_;  // in which chunks are asked: needed, data, parity; suspects after all others
  ChunkMask good_ = 0;
  ChunkMask bad_ = 0;
  ChunkMask pending_ = 0;  // asked, no answer yet
  ChunkMask late_ = 0;  // of those: too slow to count on
};

}  // namespace xec
