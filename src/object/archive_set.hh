// SPDX-License-Identifier: LGPL-3.0-or-later
// ArchiveSet: the archives of one version on their servers, opened when first needed and kept open, so that a
// reader keeps its bytes while the name is replaced, renamed or removed. Shared by all reads of one reader.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "archive/archive_reader.hh"
#include "archive/manifest.hh"
#include "commit/names.hh"
#include "commit/origin.hh"
#include "object/layout.hh"
#include "object/repair_queue.hh"

namespace xec {

// Archives up to this size are read whole at the first touch: one request for end and chunks of a small
// object.
constexpr uint64_t kWholeArchiveBytesMax = 128 * kKiB;
// Read of a larger archive's end at first, at most: where chunks have the configured size and the manifest
// the usual one, one request then gets the end, and little more.
constexpr uint64_t kArchiveTailBytes = 64 * kKiB;
constexpr uint64_t kUsualManifestBytes = 4 * kKiB;

// An open archive whose end was read and found to belong to the version. Immutable.
class Archive {
 public:
  Archive(MemberIndex server, std::string path, ArchiveFilePtr file, ArchiveIndex index, Manifest manifest,
          std::weak_ptr<Buffer> image);

  MemberIndex server() const { return server_; }
  const std::string& path() const { return path_; }
  const ArchiveFilePtr& file() const { return file_; }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<ArchiveMember>& members() const { return members_; }  // sorted by name
  // The directory's record of a chunk; null when it is not here.
  const ArchiveMember* Find(MemberName name) const;
  // All bytes of the archive, while some read that loaded them goes on; else null.
  std::shared_ptr<Buffer> image() const { return image_.lock(); }

 private:
  const MemberIndex server_;
  const std::string path_;
  const ArchiveFilePtr file_;
  const Manifest manifest_;
  const std::vector<ArchiveMember> members_;
  const std::weak_ptr<Buffer> image_;
};
using ArchivePtr = std::shared_ptr<const Archive>;

// Names one version of one object in the caches of a process.
std::string VersionKey(const NameInfo& info);

// Why an archive cannot be had, apart from the words.
enum class Absence {
  kMissing,  // its server says that it is not there
  kCorrupt,  // it is there, but damaged, unreadable or of another object
  kUnavailable,  // its server does not answer, or refuses us
};
Absence AbsenceOf(Code code);

class ArchiveSet : public std::enable_shared_from_this<ArchiveSet> {
 public:
  // `engine` outlives it. `info` is live and an object. `damage` hears what is found lost or damaged; may be
  // null.
  ArchiveSet(Engine& engine, NameInfo info, std::shared_ptr<RepairQueue> damage = nullptr);
  // Closes what is open, in the background.
  virtual ~ArchiveSet();

  struct Loaded {
    ArchivePtr archive;
    std::shared_ptr<Buffer> image;  // keeps Archive::image() alive; null when it was not read whole
  };

  // The version's manifest, from any archive or witness; the image of the archive it came from comes with it.
  // Error: kCorruption when all that answered are damaged; else kUnavailable.
  struct Described {
    std::shared_ptr<const Manifest> manifest;
    std::shared_ptr<Buffer> image;
  };
  virtual Task<Result<Described>> Describe();
  // For who only reads: if none was read yet, Describe may answer with one that another reader of the version
  // has read a moment ago. The servers that it names may be outdated.
  void UseKnownManifest();

  // The archive on that server, opened now or before. Concurrent callers share one opening. A failure is
  // remembered for a while, so that reads do not wait for a bad server one by one.
  // Errors: kNotFound, kCorruption, or what the server said.
  static Task<Result<Loaded>> Load(std::shared_ptr<ArchiveSet> self, MemberIndex server);

  // The server whose archive holds, or should hold, the chunk. Errors: kNotFound when there is none for sure;
  // kUnavailable when it cannot be known or the server is no member of the store.
  virtual Result<MemberIndex> ServerOf(const Manifest& manifest, uint64_t stripe, uint32_t chunk) const;

  // Looks, unless that was done a moment ago, for archives on servers that the manifest does not name;
  // ServerOf tells them from then on. Lanes that are nowhere, while the servers that should have them answer,
  // are reported as damage. Concurrent callers wait for one search.
  static Task<void> FindStrays(std::shared_ptr<ArchiveSet> self);
  // The same in the background; also again, after a while, for servers that did not answer.
  void StartFindStrays();
  // So often who waits for a search looks at what it has found.
  static constexpr Duration kLookAgain = std::chrono::milliseconds(20);
  // For who cannot go on without: the same by the rule of FindStrays. Answers when to look at StrayChanges
  // and call it again.
  TimePoint SearchOn();
  // An archive of this version is damaged or lost. Cheap.
  void ReportDamage(std::string problem) const;
  // A chunk in this archive is damaged: the next search prefers another archive of the lane, if there is one.
  void NoteCorrupt(const ArchivePtr& archive, std::string problem);
  // Opens archives in which damage was found anew, unless that was done a moment ago: they may have been
  // repaired since. What cannot be opened any more stays as it is. False: none was opened. Counts as a change
  // of strays.
  static Task<bool> ReopenCorrupt(std::shared_ptr<ArchiveSet> self);
  // Lanes and servers of such archives, where another one that shows no damage serves the lane.
  std::vector<std::pair<uint32_t, MemberIndex>> CorruptBeside() const;
  // What `error`, which says that bytes of the version are lost, means: kConflict if the version is not at
  // its name any more and its archives were removed after the reader's grace.
  virtual Task<Error> WhyLost(Error error);
  // Another number: since the one before, a search has changed what ServerOf tells or has opened an archive
  // of another lane, or more places are known, or damaged archives are opened anew.
  uint64_t StrayChanges() const;
  // Has the last search heard all servers that it asked, and is it known where to look on them? Else a chunk
  // that was not found may not be lost.
  bool StraysKnown() const;

  // Is a search under way? What it finds on the way counts at once.
  bool StraysSearching() const;

  // The server's archive could not be had, but may be now: what Load remembers is old, or its server has
  // answered others since. True: Load asks again.
  bool MayHaveReturned(MemberIndex server);

  // What is open already.
  std::vector<ArchivePtr> Open() const;

  // Could the archive on that server not be had a moment ago? What Load remembers.
  bool HasFailed(MemberIndex server) const;
  // After which time a read of so many bytes of the archive on that server is late, with opening it if it is
  // not open.
  Duration Patience(MemberIndex server, uint64_t bytes) const;
  // Forgets the open archive of a server whose requests fail, so that it is opened anew after a while.
  void Forget(MemberIndex server, const ArchivePtr& archive, MemberName chunk, Error error);

  // How often the server's archive could be opened, but one and the same chunk, or its end, not be read. From
  // the second time on it is reported as damage: the server may be well but for these bytes, and drop the
  // connection over them.
  int TimesUnread(MemberIndex server) const;

  const NameInfo& info() const { return info_; }
  Engine& engine() const { return engine_; }

 protected:
  // Opens the archive on that server, wherever it is; `path` tells where.
  virtual Task<Result<ArchiveFilePtr>> FindArchive(MemberIndex server, std::string& path);
  // Servers that FindStrays asks.
  virtual std::vector<MemberIndex> StrayCandidates(const Manifest& manifest) const;
  // The manifest of an archive whose end was read. Error: kCorruption when it is not this version's.
  virtual Result<Manifest> ReadManifest(const ArchiveIndex& index) const;

 private:
  // How long a server that failed is not asked again by the same reader.
  static constexpr Duration kRetryAfter = std::chrono::seconds(2);
  // Under mutex_.
  bool SearchIsDue(TimePoint now) const;
  // One search; strays_searching_ is set.
  static Task<void> SearchStrays(std::shared_ptr<ArchiveSet> self);
  using Waiter = UniqueFunction<void(Result<Loaded>)>;
  struct Slot {
    enum { kIdle, kLoading, kOpen, kFailed } state = kIdle;
    ArchivePtr archive;  // of kOpen
    std::optional<Error> error;  // of kFailed
    TimePoint loaded_at{};
    uint64_t place_changes = 0;  // those known when it was opened
    std::vector<Waiter> waiters;  // of kLoading
    std::map<std::optional<MemberName>, int> unread;  // see TimesUnread; the end is nullopt
  };

  // `chunk`: nullopt for the end.
  void NoteUnread(MemberIndex server, std::optional<MemberName> chunk, const Error& error);
  // Under mutex_: is what was found true still? A failure is not after a while, nor a witness, beside which
  // an archive may have been put; and neither is if the archive may be where it was not looked for.
  bool Stands(const Slot& slot) const;
  // In the background; nothing is lost when it does not close well.
  void CloseLater(ArchiveFilePtr file) const;
  static Task<Result<Loaded>> LoadNow(std::shared_ptr<ArchiveSet> self, MemberIndex server);
  static Task<Result<Described>> LoadAnyOf(std::shared_ptr<ArchiveSet> self,
                                           std::vector<MemberIndex> candidates);
  Task<Result<Loaded>> OpenAndRead(MemberIndex server);
  Task<Result<Loaded>> ReadOpened(MemberIndex server, std::string path, ArchiveFilePtr file);
  // `least`: the lowest rank that will do (archive_set.cc).
  Task<Result<ArchiveFilePtr>> FindMoved(MemberIndex server, int least, std::string& path);
  Task<Result<ArchiveFilePtr>> FindIn(MemberIndex server, std::vector<ObjectPath> directories, int least,
                                      std::string& path);
  // PlacesOf, asked once for all who miss an archive, and remembered: archives only move on from there. For a
  // while only if homes that did not answer may know more.
  Task<Result<Places>> FindPlaces();
  // Under mutex_.
  void Remember(Places places);
  uint64_t PlaceChanges() const;
  // May archives be under a name that nobody has told yet?
  bool MayHaveOtherPlaces() const;
  std::vector<MemberIndex> Candidates() const;
  // Was a server asked that the manifest names, and says that it has no archive? Under mutex_.
  bool NamedServerHasNothing() const;
  // Was the server asked, and has it no archive of the lane that it is named for?
  bool ShowsNoLane(MemberIndex server) const;
  bool HasNoLane(MemberIndex server) const;  // the same, under mutex_
  static Task<bool> Reopen(std::shared_ptr<ArchiveSet> self, MemberIndex server);
  // By lane: the server with the best archive of those that are open.
  std::map<uint32_t, MemberIndex> BestOpen(const Manifest& manifest) const;
  // Lanes that are not where the manifest has them, of those that are.
  std::map<uint32_t, MemberIndex> Elsewhere(const Manifest& manifest,
                                            const std::map<uint32_t, MemberIndex>& best) const;
  // While others are still asked.
  void UseStrays(const Manifest& manifest);
  void ReportLost(const Manifest& manifest, const std::map<uint32_t, MemberIndex>& elsewhere) const;

  Engine& engine_;
  const NameInfo info_;
  const std::shared_ptr<RepairQueue> damage_;
  mutable std::mutex mutex_;
  std::map<MemberIndex, Slot> slots_;  // guarded by mutex_
  std::shared_ptr<const Manifest> manifest_;  // guarded by mutex_; set once
  std::optional<Places> places_;  // guarded by mutex_
  uint64_t place_changes_ = 0;  // guarded by mutex_; how often others were found than before
  TimePoint places_again_ = {};  // guarded by mutex_; when to ask anew, unless they are complete
  bool places_sought_ = false;  // guarded by mutex_
  std::vector<UniqueFunction<void(Result<Places>)>> place_waiters_;  // guarded by mutex_
  bool strays_searching_ = false;  // guarded by mutex_, as all below
  bool strays_searched_ = false;
  bool strays_known_ = false;
  TimePoint strays_again_ = {};
  Duration search_pause_{0};
  std::map<uint32_t, MemberIndex> strays_;  // by lane
  uint64_t stray_changes_ = 0;
  std::set<MemberIndex> corrupt_;  // servers whose archive has a damaged chunk
  bool corrupt_noted_ = false;  // since the last search began
  std::vector<UniqueFunction<void(bool)>> stray_waiters_;  // of the search under way
};

}  // namespace xec
