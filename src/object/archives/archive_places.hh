// SPDX-License-Identifier: LGPL-3.0-or-later
// ArchivePlaces: where the archives of a version of the native layout are. Each one lies in the object
// directory of its name, promoted or still sealed; of one that was renamed it may be in the directory of an
// older name, and of one that is renamed while it is read in that of a later one.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <vector>

#include "base/mutex.hh"
#include "commit/steps/origin.hh"
#include "object/archives/archive_source.hh"
#include "object/archives/open_version.hh"

namespace xec {

class ArchivePlaces : public ArchiveSource {
 public:
  explicit ArchivePlaces(OpenVersionPtr version) : version_(std::move(version)) {}

  Task<Result<FoundArchive>> Find(MemberIndex server) override;
  Task<Result<FoundArchive>> FindOnSpare(MemberIndex server) override;
  // At its name.
  Task<bool> IsListed(MemberIndex server) const override;
  Task<Result<FoundArchive>> FindBesideWitness(MemberIndex server) override;
  Result<Manifest> ReadManifest(const ArchiveIndex& index) const override;
  // Homes that list an archive, best first, then those with a witness, then all others.
  std::vector<MemberIndex> Candidates() const override;
  std::vector<MemberIndex> Spares(const Manifest& manifest) const override;
  std::vector<MemberIndex> SparesFirst(const Manifest& manifest) const override;
  std::vector<MemberIndex> SparesLast(const Manifest& manifest) const override;
  uint64_t changes() const override { return changes_; }
  bool MayHaveOtherPlaces() const override;

  // How long places are used that may not be all of them.
  static constexpr Duration kAskAgainAfter = std::chrono::seconds(2);

 private:
  // `least`: the lowest rank of a state that will do (archive_places.cc).
  Task<Result<FoundArchive>> FindMoved(MemberIndex server, int least);
  Task<Result<FoundArchive>> FindListed(MemberIndex server);
  Task<Result<FoundArchive>> FindIn(MemberIndex server, std::vector<ObjectPath> directories, int least);
  // PlacesOf, asked once for all that miss an archive, and remembered: archives only move on from there. For
  // a while only if homes that did not answer may know more.
  Task<Result<Places>> Look();
  void Remember(Places places) XEC_REQUIRES(mutex_);
  // Where a version that was at that name has been moved to since; nullopt: it has not been. Those that ask
  // while a look-up is under way share the next one: an archive may have left after this one began.
  struct MovedOn {
    Version version;
    ObjectPath to;
  };
  using Moved = Result<std::optional<MovedOn>>;
  Task<Moved> MovedSince(ObjectPath from, Version version);
  Task<Moved> AskWhetherMoved(ObjectPath from, Version version) const;

  const OpenVersionPtr version_;
  mutable Mutex mutex_;
  std::optional<Places> places_ XEC_GUARDED_BY(mutex_);
  TimePoint again_ XEC_GUARDED_BY(mutex_) = {};  // when to ask anew, unless they are complete
  bool looking_ XEC_GUARDED_BY(mutex_) = false;
  std::vector<UniqueFunction<void(Result<Places>)>> waiters_ XEC_GUARDED_BY(mutex_);
  // While a look-up of a name is under way: those that wait for the next one. It is made by the first of
  // them, who is told nothing but that it is time.
  std::map<ObjectPath, std::vector<UniqueFunction<void(std::optional<Moved>)>>> asking_
      XEC_GUARDED_BY(mutex_);
  std::atomic<uint64_t> changes_ = 0;  // how often others were found than before; grows under mutex_
};

}  // namespace xec
