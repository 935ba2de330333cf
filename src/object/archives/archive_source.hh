// SPDX-License-Identifier: LGPL-3.0-or-later
// ArchiveSource: where the archives of one version are on their servers, and which files are archives of it.
// One for each layout.
#pragma once

#include <vector>

#include "object/archives/archive_handle.hh"

namespace xec {

// Thread-safe. Lives until its tasks have ended.
class ArchiveSource {
 public:
  virtual ~ArchiveSource() = default;

  // Opens the archive on that server, or a witness of the version, wherever it is there. Errors: kNotFound,
  // or what the server said.
  virtual Task<Result<FoundArchive>> Find(MemberIndex server) = 0;
  // The same on a server that probably has none: what it lists is asked first.
  virtual Task<Result<FoundArchive>> FindOnSpare(MemberIndex server) { return Find(server); }
  // Does that server list an archive where it mostly is? That it does not says nothing of other places there.
  virtual Task<bool> IsListed(MemberIndex server) const = 0;
  // For a reader that has met a witness there: the archive itself.
  virtual Task<Result<FoundArchive>> FindBesideWitness(MemberIndex server) = 0;
  // The manifest of an archive whose end was read. Error: kCorruption when it is not this version's.
  virtual Result<Manifest> ReadManifest(const ArchiveIndex& index) const = 0;

  // Servers on which a manifest may be, those where that is most likely first.
  virtual std::vector<MemberIndex> Candidates() const = 0;
  // Servers that `manifest` does not name and that may have an archive nevertheless; those of them where one
  // mostly is, if there is one; and all others, where one may be that is on none of these.
  virtual std::vector<MemberIndex> Spares(const Manifest& manifest) const = 0;
  virtual std::vector<MemberIndex> SparesFirst(const Manifest& manifest) const = 0;
  virtual std::vector<MemberIndex> SparesLast(const Manifest& manifest) const = 0;

  // Another number: since the one before, more places are known, so that what was not found may be there.
  virtual uint64_t changes() const = 0;
  // May archives be in places that nobody has told yet?
  virtual bool MayHaveOtherPlaces() const = 0;
};

}  // namespace xec
