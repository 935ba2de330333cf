// SPDX-License-Identifier: LGPL-3.0-or-later
// Creates the archives of one upload: on the best servers, and on others instead where that fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commit/engine/engine.hh"
#include "commit/engine/server_gather.hh"
#include "protocol/object_path.hh"
#include "protocol/state_name.hh"

namespace xec {

struct OpenedArchive {
  MemberIndex server = 0;
  ArchiveFilePtr file;
};

// Where the archives of an upload are made, and in which order servers are asked.
struct ArchivePlace {
  std::string path;                  // of the archive, the same on every server
  std::vector<std::string> folders;  // made before it
  std::vector<MemberIndex> homes;    // asked first
  std::string salt;                  // orders the others
  bool into_reserve = false;         // servers with less than their reserve free take it, too
};
// In the object directory of `path` under the name of `seal`.
ArchivePlace SealPlace(const Engine& engine, const ObjectPath& path, const State& seal);

// One owner, calls one after another. Every server is tried at most once in the life of an opener.
class ArchiveOpener {
 public:
  ArchiveOpener(Engine& engine, ArchivePlace place);
  // Before anything is opened.
  void SetPlace(ArchivePlace place);
  const std::string& path() const { return place_.path; }

  // Creates up to `count` archives on distinct servers, in parallel, homes first, servers known to be suspect
  // or down last, at most `per_host_max` on a host while that can be avoided, those opened earlier included.
  // A server that is late by failover_delay is given up for the next one, if there is one. Servers without
  // room (KnownSpace) get none. In order of preference; fewer when there are no more servers.
  Task<std::vector<OpenedArchive>> OpenBest(size_t count, size_t per_host_max);

  // The same on homes only, for archives without chunks: those without room get some after the others.
  // `late_homes`: when no other home is left.
  Task<std::vector<OpenedArchive>> OpenOnHomes(size_t count, Late late_homes);

  // Is there a server that was not tried yet, has room, and is not known to be suspect or down?
  bool HasSpare() const;
  // The archive on this server is not used any more: it does not count for its host.
  void Release(MemberIndex server) { std::erase(held_, server); }

  // When the first archive was there.
  std::optional<TimePoint> opened_at() const { return opened_at_; }

  // Every server that was asked to create one: where seals may lie.
  std::vector<MemberIndex> Tried() const;

  // What went wrong, for messages: "s03: ...; s07: ...". kNoSpace or kPermissionDenied if all failures were
  // so, else kUnavailable.
  Error Problems(Code otherwise = Code::kUnavailable) const;

 private:
  bool IsBad(MemberIndex server) const;
  // As this upload may use it.
  KnownSpace::Room Room() const { return place_.into_reserve ? KnownSpace::Room() : engine_.Room(); }
  void NoteFull(const KnownSpace::Room& room);
  std::vector<MemberIndex> NextCandidates(size_t count, size_t per_host_max, bool homes_only);
  Task<std::vector<OpenedArchive>> Open(size_t count, size_t per_host_max, bool homes_only, Late late_ones);
  class Opening;

  Engine& engine_;
  ArchivePlace place_;
  std::vector<bool> tried_;  // by member
  std::vector<bool> full_;  // by member: passed over for want of room
  std::vector<MemberIndex> held_;  // have an archive of this upload
  std::optional<TimePoint> opened_at_;
  std::vector<std::pair<MemberIndex, Error>> failures_;
};

}  // namespace xec
