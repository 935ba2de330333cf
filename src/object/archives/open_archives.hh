// SPDX-License-Identifier: LGPL-3.0-or-later
// OpenArchives: the archives of one version, each opened when it is first needed and kept open, so that a
// reader keeps its bytes while the name is replaced, renamed or removed. Shared by all reads of one reader.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/mutex.hh"
#include "object/archives/archive_slot.hh"
#include "object/archives/archive_source.hh"
#include "object/archives/open_version.hh"

namespace xec {

class OpenArchives : public std::enable_shared_from_this<OpenArchives> {
 public:
  OpenArchives(OpenVersionPtr version, std::shared_ptr<ArchiveSource> source);
  // Closes what is open, in the background.
  ~OpenArchives();
  // `missed` runs, without a lock, when an archive was opened and a server that the manifest names has said
  // that it has none. Call before anything else.
  void OnMissed(std::function<void()> missed) { missed_ = std::move(missed); }

  // The archive on that server, opened now or before. Concurrent callers share one opening. A failure is
  // remembered for a while, so that reads do not wait for a bad server one by one.
  // Errors: kNotFound, kCorruption, or what the server said.
  Task<Result<LoadedArchive>> Load(MemberIndex server) { return LoadFor(shared_from_this(), server); }

  // That of the archive that was opened first, or what UseManifest was told before; null: none yet.
  std::shared_ptr<const Manifest> manifest() const;
  void UseManifest(std::shared_ptr<const Manifest> manifest);

  // What is open already.
  std::vector<ArchivePtr> All() const;
  // What the servers have that have answered.
  struct Holding {
    MemberIndex server;
    ArchivePtr archive;  // null: there is none
    bool corrupt = false;  // a chunk in it is damaged
  };
  std::vector<Holding> Holdings() const;

  // Could the archive on that server not be had a moment ago? What Load remembers.
  bool HasFailed(MemberIndex server) const;
  // The server's archive could not be had, but may be now: what Load remembers is old, or its server has
  // answered others since. True: Load asks again.
  bool MayHaveReturned(MemberIndex server);
  // After which time a read of so many bytes of the archive on that server is late, with opening it if it is
  // not open.
  Duration Patience(MemberIndex server, uint64_t bytes) const;

  // Forgets the open archive of a server whose requests fail, so that it is opened anew after a while.
  void Forget(MemberIndex server, const ArchivePtr& archive, MemberName chunk, Error error);
  // How often the server's archive could be opened, but one and the same chunk, or its end, not be read. From
  // the second time on it is reported as damage: the server may be well but for these bytes, and drop the
  // connection over them.
  int TimesUnread(MemberIndex server) const;

  // A chunk in this archive is damaged.
  void NoteCorrupt(const ArchivePtr& archive, std::string problem);
  // Of how many archives that was news.
  uint64_t times_corrupt() const { return times_corrupt_; }
  // Opens archives in which damage was found anew, unless that was done a moment ago: they may have been
  // repaired since. What cannot be opened any more stays as it is. False: none was opened.
  Task<bool> ReopenCorrupt() { return ReopenCorruptOf(shared_from_this()); }
  // How many archives were.
  uint64_t times_reopened() const { return times_reopened_; }

 private:
  using Self = std::shared_ptr<OpenArchives>;
  using Waiter = UniqueFunction<void(Result<LoadedArchive>)>;
  struct Entry {
    ArchiveSlot slot;
    std::vector<Waiter> waiters;  // while it is loaded
  };

  static Task<Result<LoadedArchive>> LoadFor(Self self, MemberIndex server);
  static Task<Result<LoadedArchive>> LoadNow(Self self, MemberIndex server);
  static Task<bool> ReopenCorruptOf(Self self);
  static Task<bool> Reopen(Self self, MemberIndex server);
  Task<Result<FoundArchive>> Find(MemberIndex server);
  Task<Result<LoadedArchive>> OpenAndRead(MemberIndex server);
  Task<Result<LoadedArchive>> ReadFound(MemberIndex server, FoundArchive found);
  // `chunk`: nullopt for the end.
  void NoteUnread(MemberIndex server, std::optional<MemberName> chunk, const Error& error);
  // Was a server asked that the manifest names, and says that it has no archive?
  bool NamedServerHasNothing() const XEC_REQUIRES(mutex_);

  const OpenVersionPtr version_;
  const std::shared_ptr<ArchiveSource> source_;
  std::function<void()> missed_;
  mutable Mutex mutex_;
  std::map<MemberIndex, Entry> entries_ XEC_GUARDED_BY(mutex_);
  std::shared_ptr<const Manifest> manifest_ XEC_GUARDED_BY(mutex_);  // set once
  std::atomic<uint64_t> times_corrupt_ = 0;
  std::atomic<uint64_t> times_reopened_ = 0;
};

}  // namespace xec
