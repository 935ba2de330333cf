// SPDX-License-Identifier: LGPL-3.0-or-later
// The archives of an object in the form of stock XrdEc: files at the object's plain name, chunks of a stripe
// anywhere among them, so that only the directories of all of them tell where a chunk lies.
#pragma once

#include <vector>

#include "object/archives/archive_set.hh"

namespace xec {

class XrdecArchiveSet final : public ArchiveSet {
 public:
  // info.holders: every server that has an archive of the newest version (the attributes say which);
  // info.accepted has its size; its oid is empty unless the archives' manifests are to be compared with it.
  // XrdEc keeps no geometry: `geometry` is the configured one.
  XrdecArchiveSet(Engine& engine, NameInfo info, Geometry geometry);

  // Opens all archives, or all but those that are late once k are open. Errors: kInvalidArgument when the
  // geometry does not fit what is found, else as in the base.
  Task<Result<Described>> Describe() override;

  // Objects of this layout are not replaced.
  Task<Error> WhyLost(Error error) override { co_return error; }

  Result<MemberIndex> ServerOf(const Manifest& manifest, uint64_t stripe, uint32_t chunk) const override;

 private:
  XrdecArchiveSet(const OpenVersionPtr& version, Geometry geometry);
  static Task<Result<Described>> OpenAll(std::shared_ptr<XrdecArchiveSet> self);
  Status CheckGeometry() const;

  const Geometry geometry_;
};

}  // namespace xec
