// SPDX-License-Identifier: LGPL-3.0-or-later
// ReadPolicy: what one read of one stripe does: which chunks to ask for, whether others are asked in place of
// late ones, and whether it is worth beginning anew. A pure state machine: no I/O, no lock, and times come as
// arguments. The driver (stripe_reader.cc) sends the requests.
//
//   Start     begins a try: reads the chunks that are needed; if the server of one of them is not well, the
//             best k instead, as far as that spares the server
//   OnGood    a chunk was read well
//   OnBad     a bad answer is replaced at once by a chunk not asked yet
//   OnLate    others are asked in place of what is late, if that is free or can be paid; its answer still
//             counts
//   OnBack    what was bad is asked once more
//
// The stripe is decided as soon as all needed chunks, or any k, are good; or when even all that are not bad
// yet would be too few. In one try no chunk is read twice unless its server is back, so n = k+m reads are the
// most there can be otherwise. What was found bad stays bad in later tries, until it is back or archives were
// found elsewhere.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "codec/reed_solomon.hh"
#include "placement/store_descriptor.hh"
#include "runtime/executor.hh"

namespace xec {

class ReadPolicy {
 public:
  // The server to ask for a chunk, as far as is known now.
  struct Holder {
    std::optional<MemberIndex> server;  // nullopt: nobody is known to have it
    int rank = 0;  // ServerHealth::Rank of it
    bool failed = false;  // its archive could not be had a moment ago
  };
  using Holders = std::array<Holder, kChunksMax>;  // by chunk

  struct Stripe {
    uint32_t data_chunks = 1;  // k
    uint32_t parity_chunks = 1;  // m
    ChunkMask needed = 0;  // what the caller wants; not empty
    ChunkMask empty = 0;  // chunks without bytes: known without reading
    Duration hedge_delay{0};  // EngineOptions::hedge_delay
    uint64_t changes = 0;  // ArchiveSet::Changes() now
  };

  struct Actions {
    ChunkMask start = 0;  // reads to start now
    enum { kGoOn, kDone, kFailed } outcome = kGoOn;
    // Of OnLate: when to call it again, even if nothing more is late then.
    TimePoint look_again = TimePoint::max();
  };

  // So soon it is looked again at late chunks for which nothing could be paid, and at bad ones.
  static constexpr Duration kLookAgain = std::chrono::milliseconds(20);
  // After so many times the hedging delay nobody waits for a bad server any more, whatever the budget of
  // hedges says.
  static constexpr int kLongWait = 5;
  // So often a read begins anew because archives were found elsewhere, and once more for each chunk; and asks
  // for a chunk because its server seems to be back.
  static constexpr int kSearchesMax = 4;
  static constexpr int kReturnsMax = 4;
  // One that waits for late chunks does so at most after this time, then twice that, and so on: a server may
  // answer everything but this chunk.
  static constexpr Duration kReturnPause = std::chrono::seconds(2);

  explicit ReadPolicy(const Stripe& stripe);

  // Call first, and once for each try.
  Actions Start(const Holders& holders);
  // The read of `chunk` was sent to `server`, which has that rank. Call for each one in Actions::start.
  void OnAsked(uint32_t chunk, std::optional<MemberIndex> server, int rank, TimePoint now);
  // How the read of `chunk` ended. Not after the outcome. `silent`: its server did not answer.
  Actions OnGood(uint32_t chunk);
  Actions OnBad(uint32_t chunk, bool silent, const Holders& holders);
  // `late` are all that are late now. `pay` is asked for that many requests of the budget of hedges, which it
  // takes or refuses.
  using Pay = std::function<bool(uint64_t requests)>;
  Actions OnLate(ChunkMask late, const Holders& holders, TimePoint now, const Pay& pay);

  // While late chunks are waited for: is there a bad one that a search for archives might find?
  bool WaitsBesideBad() const { return overdue_ != 0 && (bad_ | again_) != 0; }
  // Can only chunks that are late or bad give what is missing?
  bool IsStuck() const;
  // Has a search found archives of chunks that could not be had where they were asked for? `changes` is
  // ArchiveSet::Changes() now. True: break off and start anew.
  bool FoundElsewhere(uint64_t changes, const Holders& holders);
  bool IsNews(uint64_t changes) const { return changes != changes_; }
  // When to look at all this again. `searched`: when the search that is stuck without can tell more.
  TimePoint LookAgainAt(TimePoint now, TimePoint searched) const;

  // Bad chunks to be asked once more, if their servers seem to be back. `waiting`: for late ones.
  ChunkMask MayBeBack(TimePoint now, bool waiting) const;
  // These of them are back. After kFailed: start anew, whatever it answers.
  Actions OnBack(ChunkMask back, const Holders& holders, TimePoint now);

  // This try is given up for another one, which asks last for what is late in it.
  void BreakOff() { late_before_ |= late_; }

  // After kFailed, once a search has ended or changed something: true: start anew.
  bool OnSearched(uint64_t changes);
  // After kFailed, when that was no use: true, once: damaged archives should be opened anew. If any was:
  // OnReopened, and start anew.
  bool MayReopen() { return !std::exchange(reopened_, true); }
  void OnReopened(uint64_t changes) { Forgive(changes); }

  // Read well, or empty.
  ChunkMask good() const { return good_; }
  ChunkMask bad() const { return bad_; }
  // Others were asked in place of these, which are still without an answer.
  ChunkMask late() const { return late_; }

 private:
  struct Asked {
    std::optional<MemberIndex> server;
    int rank = 0;  // of the server then
    TimePoint at;
  };
  struct Return {
    int times = 0;
    TimePoint next = TimePoint::min();  // while it waits
  };

  uint32_t chunk_count() const { return stripe_.data_chunks + stripe_.parity_chunks; }
  void SetRanks(const Holders& holders);
  void SortByRank();
  Actions Decide();
  bool Satisfied() const;
  ChunkMask TakeUnasked(uint32_t count);
  bool Sparing() const;
  bool IsFree(ChunkMask late, ChunkMask others, const Holders& holders, TimePoint now) const;
  bool MayBeginAnew() { return ++searches_ <= kSearchesMax + static_cast<int>(chunk_count()); }
  void Forgive(uint64_t changes);

  const Stripe stripe_;
  const ChunkMask all_;
  std::array<uint8_t, kChunksMax> ranks_ = {};  // by chunk: in which order to ask its server; 0: it is well
  std::vector<uint32_t> order_;  // in which chunks are asked: by rank; within one needed, data, parity
  ChunkMask good_ = 0;
  ChunkMask bad_ = 0;  // in this try or an earlier one
  ChunkMask pending_ = 0;  // asked, no answer yet
  ChunkMask late_ = 0;  // of those: too slow to count on
  ChunkMask overdue_ = 0;  // all that were late when OnLate was called last
  ChunkMask again_ = 0;  // were bad, and are asked once more
  // What is known from all tries.
  ChunkMask late_before_ = 0;
  ChunkMask silent_ = 0;  // whose last answer was that the server does not answer
  std::vector<Asked> asked_;  // the last read of each chunk
  std::vector<Return> returns_;  // by chunk
  uint64_t changes_;  // those that the read has made use of
  int searches_ = 0;
  bool reopened_ = false;
};

}  // namespace xec
