// SPDX-License-Identifier: LGPL-3.0-or-later
// RepairCopies: the archives that a repair writes anew, all at once, as drafts.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/object_digests.hh"
#include "object/repair/damage_survey.hh"
#include "object/repair/repair_copy.hh"
#include "object/repair/repaired_version.hh"
#include "object/write/stripe_buffer.hh"

namespace xec {

// Of an object that is not read whole: while one is written the others are read.
constexpr size_t kStripesAtOnce = 3;

// One owner, one call at a time.
class RepairCopies {
 public:
  // All outlive it. `refusing`: servers that took a copy's file before, but not its bytes, and what they
  // said.
  RepairCopies(const RepairedVersion& version, DamageSurvey& survey,
               const std::map<MemberIndex, std::string>& refusing)
      : version_(version), survey_(survey), refusing_(refusing) {}

  // Creates the file of a lane's copy on the first server that takes it. kUnavailable, with a sentence for
  // the report, when none does.
  Task<Status> Open(uint32_t lane);
  // The server that would be asked first; nullopt: none could be. Nothing is written: of a dry run.
  std::optional<MemberIndex> Plan(uint32_t lane);
  // Decodes what the copies have of the object, or all of it if the repair is a deep one, writes it, then
  // ends and closes their archives. The status of each copy tells what became of it.
  Task<void> Write();
  // Chunks of other archives that were read and are damaged.
  const std::vector<DamagedChunk>& damaged() const { return damaged_; }

  std::vector<ArchiveCopy>& copies() { return copies_; }

 private:
  std::vector<MemberIndex> Targets(uint32_t lane) const;
  Task<bool> HoldsAnother(MemberIndex server, uint32_t lane);
  Task<Status> WriteDecoded();
  Task<Status> WriteMade(ReadContext context);
  Task<Status> WriteMade(MadeChunks made);
  ChunksWanted WantedOf(uint64_t stripe) const;
  Task<Status> WriteStripes(ObjectDigests& digests);
  uint64_t PieceBytes(uint64_t stripe_bytes) const;
  Task<Status> WriteStripe(StripeExtent extent, ObjectDigests& digests);
  Task<Status> WriteChunks(std::shared_ptr<StripeBuffer> stripe, Duration reading);
  bool AllFailed() const;
  Status CheckDigests(ObjectDigests& digests) const;
  Task<void> EndArchives(Duration writing);
  Manifest ManifestOf(const ArchiveCopy& copy) const;

  const RepairedVersion& version_;
  DamageSurvey& survey_;
  const std::map<MemberIndex, std::string>& refusing_;
  std::vector<ArchiveCopy> copies_;
  std::vector<DamagedChunk> damaged_;
};

}  // namespace xec
