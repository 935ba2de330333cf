// SPDX-License-Identifier: LGPL-3.0-or-later
// DamageSurvey: what is bad of a version, and where its archives are; found by reading it whole, or from the
// directories of its archives.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "object/repair/lost_chunks.hh"
#include "object/repair/repaired_version.hh"
#include "protocol/state_name.hh"

namespace xec {

// Does the chunk's server not answer now? What such a server has is left alone, unless it is gone.
bool IsAway(const ChunkReport& chunk);
// Will the chunk's server never answer again?
bool IsGone(const Engine& engine, const Manifest& manifest, const RepairOptions& options,
            const ChunkReport& chunk);

// One owner, one call at a time.
class DamageSurvey {
 public:
  // `version` outlives it.
  explicit DamageSurvey(const RepairedVersion& version) : version_(version) {}

  // What the servers that the manifest names, and `others`, have before it is read: what comes there later is
  // not what was read, but another repair's. Where the listing fails nothing counts as listed. Servers that
  // were bad when they were last asked are waited for as well: they may be back, and what they have is read
  // then.
  Task<void> ListArchives(std::set<MemberIndex> others);
  // Reads everything, or, unless the repair is a deep one, the directories; what is below is known then.
  // Errors: those of ObjectReader::Verify and Locate.
  Task<Status> FindBad();
  // Chunks that were read and found damaged before: FindBad reads these, too.
  void Suspect(std::vector<DamagedChunk> chunks) { suspects_ = std::move(chunks); }
  // Are there enough chunks of each stripe? Else kDataLoss, or kUnavailable if there may be, with a sentence
  // that names the first stripe without.
  Status EnoughLeft() const;
  // How many further archives could be lost, at least; < 0: a stripe has too few chunks.
  int survives() const;
  // An archive could be opened, but not read: FindBad may find out more after a while.
  bool read_again() const { return read_again_; }

  // Lanes, ascending. A lane is bad when a chunk of it is; it is silent when its server does not answer, but
  // may come back.
  const std::vector<uint32_t>& bad() const { return bad_; }
  // Is nothing bad, and does every server answer?
  bool whole() const { return bad_.empty() && archives_silent_ == 0; }
  // To be made elsewhere, although it is good.
  void Leave(const LaneMove& move);
  // By lane: the first thing that is wrong with it.
  const std::map<uint32_t, std::string>& wrong() const { return wrong_; }
  uint64_t archives_silent() const { return archives_silent_; }
  const std::set<MemberIndex>& silent() const { return silent_; }
  // By lane: its server, also of a damaged archive.
  const std::map<uint32_t, MemberIndex>& found_on() const { return found_on_; }
  // Servers with an archive that is good, silent or may be good.
  const std::vector<MemberIndex>& holders() const { return holders_; }
  // Was no chunk of the lane good? Then it need not be asked for any.
  bool IsAbsent(uint32_t lane) const { return absent_.contains(lane); }
  // Is it because its server does not answer?
  bool IsSilent(uint32_t lane) const { return silent_lanes_.contains(lane); }
  // Is the lane bad because its archive could be opened, but twice not read? It may be good.
  bool IsUnread(uint32_t lane) const { return unread_.contains(lane); }

  // The archive of the version that was listed on the server first.
  bool HasListed(MemberIndex server) const { return listed_.contains(server); }
  std::optional<State> Listed(MemberIndex server) const;
  // Does nothing if the server has been listed.
  void NoteListed(MemberIndex server, std::optional<State> archive) {
    listed_.emplace(server, std::move(archive));
  }

 private:
  // What is left of a stripe.
  struct Left {
    uint32_t good = 0;
    uint32_t needed = 0;  // as many as there are data chunks with bytes
    bool away = false;  // more may be
    std::string problems;
  };

  struct Lanes;
  void Take(const ChunkReport& chunk, Lanes& lanes);
  Task<Status> LookAtSuspects(Lanes& lanes);
  void Count(const ChunkReport& chunk);
  Task<bool> Answers(MemberIndex server);
  Task<void> NoteUnread(std::map<uint32_t, ChunkReport> unread);

  const RepairedVersion& version_;
  std::map<MemberIndex, std::optional<State>> listed_;
  std::map<uint32_t, std::string> wrong_;
  bool read_again_ = false;
  std::set<uint32_t> unread_;
  std::vector<uint32_t> bad_;
  uint64_t archives_silent_ = 0;
  std::set<MemberIndex> silent_;
  std::map<uint32_t, MemberIndex> found_on_;
  std::vector<MemberIndex> holders_;
  std::set<uint32_t> absent_, silent_lanes_;
  std::map<uint64_t, Left> left_;  // by stripe
  std::vector<DamagedChunk> suspects_;
};

}  // namespace xec
