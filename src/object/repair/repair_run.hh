// SPDX-License-Identifier: LGPL-3.0-or-later
// One repair of one object: what is bad, and where it is placed, is in repair.cc; how archives are written
// anew in repair_write.cc. Internal to these.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/store_maintenance.hh"
#include "base/contains.hh"
#include "object/read/object_reader.hh"
#include "object/repair/repair_copy.hh"
#include "object/write/stripe_buffer.hh"

namespace xec {

class Repair {
 public:
  Repair(Engine& engine, NameInfo info, std::shared_ptr<ObjectReader> reader, Manifest manifest,
         RepairOptions options, RepairReport before, std::map<MemberIndex, std::string> refusing,
         std::set<MemberIndex> also_listed, bool last_round)
      : engine_(engine),
        info_(std::move(info)),
        reader_(std::move(reader)),
        manifest_(std::move(manifest)),
        options_(std::move(options)),
        refusing_(std::move(refusing)),
        also_listed_(std::move(also_listed)),
        last_round_(last_round),
        report_(std::move(before)) {
    report_.problems.clear();
  }

  Task<Result<RepairReport>> Run();
  // Servers that took a copy's file, but not its bytes, and what they said: they are full, say.
  const std::map<MemberIndex, std::string>& refusing() const { return refusing_; }
  // Servers that ListArchives has to list as well, next time: a bad archive beside its copy was met there.
  const std::set<MemberIndex>& also_listed() const { return also_listed_; }

 private:
  Task<void> ListArchives();
  Task<Status> FindBad();
  Task<bool> Answers(MemberIndex server);
  Task<void> NoteUnread(std::map<uint32_t, ChunkReport> unread, std::vector<bool>& silent,
                        std::vector<bool>& bad);
  void NoteSilent(MemberIndex server);
  std::vector<MemberIndex> Targets(uint32_t lane) const;
  Task<bool> HoldsAnother(MemberIndex server, uint32_t lane);
  Task<void> OpenCopy(uint32_t lane);
  Task<Status> WriteStripes(ObjectDigests& digests);
  uint64_t PieceBytes(uint64_t stripe_bytes) const;
  Task<Status> WriteStripe(StripeExtent extent, ObjectDigests& digests);
  Task<Status> WriteChunks(std::shared_ptr<StripeBuffer> stripe, Duration reading);
  bool AllFailed() const;
  Status CheckDigests(ObjectDigests& digests) const;
  Task<void> EndArchives(Duration writing);
  Task<void> Place(ArchiveCopy& copy);
  Task<void> RemoveBadOf(uint32_t lane, MemberIndex server);
  Manifest ManifestOf(const ArchiveCopy& copy) const;

  Engine& engine_;
  const NameInfo info_;
  const std::shared_ptr<ObjectReader> reader_;
  const Manifest manifest_;
  const RepairOptions options_;
  std::map<MemberIndex, std::string> refusing_;
  std::set<MemberIndex> also_listed_;
  const bool last_round_;
  RepairReport report_;
  std::map<uint32_t, std::string> wrong_;  // by lane: the first thing that is wrong with it
  bool read_again_ = false;  // an archive could be opened, but not read
  std::set<uint32_t> unread_;  // lanes that are bad since that happened again
  std::vector<uint32_t> bad_;         // lanes, ascending
  std::map<uint32_t, MemberIndex> found_on_;  // by lane: its server, also of a damaged archive
  std::vector<MemberIndex> holders_;  // servers with an archive that is good, silent or may be good
  // By server: the archive of the version that was listed there before it was read, if any.
  std::map<MemberIndex, std::optional<State>> listed_;
  std::vector<ArchiveCopy> copies_;
};

}  // namespace xec
