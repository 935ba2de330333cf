// SPDX-License-Identifier: LGPL-3.0-or-later
// ArchiveSet: the archives of one version, as its readers use them: one handle for the classes that do the
// work. It has no state of its own and no lock.
//
//   OpenArchives   opens them, remembers whose could not be had
//   ArchiveSource  knows where they are on their servers (ArchivePlaces, or XrdecPlaces)
//   StrayLanes     knows which lanes are on other servers than the manifest says, and searches for them
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "object/archives/open_archives.hh"
#include "object/archives/stray_lanes.hh"

namespace xec {

// Names one version of one object in the caches of a process.
std::string VersionKey(const NameInfo& info);

class ArchiveSet : public std::enable_shared_from_this<ArchiveSet> {
 public:
  // `engine` outlives it. `info` is live and an object. `damage` hears what is found lost or damaged; may be
  // null. `ends_only`: as of OpenVersion.
  ArchiveSet(Engine& engine, NameInfo info, std::shared_ptr<RepairQueue> damage = nullptr,
             bool ends_only = false);
  virtual ~ArchiveSet() = default;

  // The version's manifest, from any archive or witness; the image of the archive it came from comes with it.
  // Error: kCorruption when all that answered are damaged; else kUnavailable.
  struct Described {
    std::shared_ptr<const Manifest> manifest;
    std::shared_ptr<Buffer> image;
  };
  virtual Task<Result<Described>> Describe();
  // For a mere reader: if none was read yet, Describe may answer with one that another reader of the version
  // has read a moment ago. The servers that it names may be outdated.
  void UseKnownManifest();

  // The server whose archive holds, or should hold, the chunk. Errors: kNotFound when there is none for sure;
  // kUnavailable when it cannot be known or the server is no member of the store.
  virtual Result<MemberIndex> ServerOf(const Manifest& manifest, uint64_t stripe, uint32_t chunk) const;

  // What `error`, which says that bytes of the version are lost, means: kConflict if the version is not at
  // its name any more and its archives were removed after the reader's grace.
  virtual Task<Error> WhyLost(Error error);

  OpenArchives& open() const { return *open_; }
  StrayLanes& strays() const { return *strays_; }
  const NameInfo& info() const { return version_->info; }
  Engine& engine() const { return version_->engine; }

 protected:
  ArchiveSet(OpenVersionPtr version, std::shared_ptr<ArchiveSource> source);

  // OpenArchives::Load for a reader that may not wait until it ends: what it finds missing is searched for
  // even when all readers have gone.
  static Task<Result<LoadedArchive>> Load(std::shared_ptr<const ArchiveSet> self, MemberIndex server);

 private:
  explicit ArchiveSet(const OpenVersionPtr& version);
  static Task<Result<Described>> LoadAny(std::shared_ptr<ArchiveSet> self);

  const OpenVersionPtr version_;
  const std::shared_ptr<ArchiveSource> source_;
  const std::shared_ptr<OpenArchives> open_;
  const std::shared_ptr<StrayLanes> strays_;
};

}  // namespace xec
