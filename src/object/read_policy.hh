// SPDX-License-Identifier: LGPL-3.0-or-later
// ReadPolicy: which chunks of one stripe to read, as answers come in. A pure state machine: no I/O, clock,
// lock.
//
//   OnStart   reads the chunks that are needed; if the server of one of them is not well, the best k
//             instead, as far as that spares the server
//   OnChunk   a bad answer is replaced at once by a chunk not asked yet
//   OnLate    others are asked in place of what is late; its answer still counts
//   OnBack    what was bad may be asked once more
//
// The stripe is decided as soon as all needed chunks, or any k, are good; or when even all that are not bad
// yet would be too few. No chunk is read twice unless its server is back, so n = k+m reads are the most there
// can be otherwise.
#pragma once

#include <array>
#include <vector>

#include "codec/reed_solomon.hh"

namespace xec {

class ReadPolicy {
 public:
  // By chunk: in which order to ask its server, lower first; 0: it is well (ServerHealth::Rank).
  using Ranks = std::array<uint8_t, kChunksMax>;

  struct Stripe {
    uint32_t data_chunks = 1;  // k
    uint32_t parity_chunks = 1;  // m
    ChunkMask needed = 0;  // what the caller wants; not empty
    ChunkMask empty = 0;  // chunks without bytes: known without reading
    ChunkMask absent = 0;  // known to be nowhere: never asked
    Ranks ranks = {};  // of the servers of the chunks
  };

  struct Actions {
    ChunkMask start = 0;  // reads to start now
    enum { kGoOn, kDone, kFailed } outcome = kGoOn;
  };

  explicit ReadPolicy(const Stripe& stripe);

  // Call once, first.
  Actions OnStart();
  // The read of `chunk`, started before, was good or bad. Not after the outcome.
  Actions OnChunk(uint32_t chunk, bool good);
  // These, asked before, are late.
  Actions OnLate(ChunkMask late);
  // These were bad, but may be good now.
  Actions OnBack(ChunkMask back);
  // What is known of the servers has changed.
  void SetRanks(const Ranks& ranks);

  // Read well, or empty.
  ChunkMask good() const { return good_; }
  ChunkMask bad() const { return bad_; }
  // Said to be late, and still without an answer.
  ChunkMask late() const { return late_; }

 private:
  Actions Decide();
  bool Satisfied() const;
  ChunkMask TakeUnasked(uint32_t count);
  bool Sparing() const;

  Stripe stripe_;
  ChunkMask all_;
  std::vector<uint32_t> order_;  // in which chunks are asked: by rank; within one needed, data, parity
  ChunkMask good_ = 0;
  ChunkMask bad_ = 0;
  ChunkMask pending_ = 0;  // asked, no answer yet
  ChunkMask late_ = 0;  // of those: too slow to count on
};

}  // namespace xec
