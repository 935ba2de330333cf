// SPDX-License-Identifier: LGPL-3.0-or-later
// Offline recovery: an object from copies of its archives, found below some folders; no service, no store.
//
// Archives of XEC say in their manifest what they belong to. Those of stock XrdEc do not: they are found by
// the path that the user names, and the geometry is the user's word. Blocking; one thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "archive/archive_reader.hh"
#include "archive/manifest.hh"
#include "server/kinds/local_root.hh"

namespace xec {

// An archive file that could be read as one.
struct RecoveredArchive {
  std::string path;
  uint64_t size_bytes = 0;
  ArchiveIndex index;
  std::optional<Manifest> manifest;
  std::optional<uint64_t> xrdec_file_size;  // of the attribute, if the copy kept it
};

// Reads the directory of the archive at `path`. Errors: kCorruption (no archive, or damaged), those of errno.
Result<RecoveredArchive> ReadArchive(const std::string& path);

// One complete content of a name, as far as its archives were found.
struct FoundObject {
  Geometry geometry;
  uint64_t size_bytes = 0;
  std::vector<PartRun> parts;  // as the manifest's
  std::string path;  // in the store; of XrdEc: as the user named it
  std::string object_id;  // "" of XrdEc
  std::map<std::string, std::string> checksums;
  std::vector<RecoveredArchive> archives;

  StripeMap Stripes() const { return StripeMap(geometry, size_bytes, parts); }
};

// All objects with a manifest, by object id.
std::map<std::string, FoundObject> GroupByObject(std::vector<RecoveredArchive> archives);

// An XrdEc object of these archives. The size comes from an attribute, or from the last stripe's data chunks.
// Errors: kInvalidArgument when it must be said, kDataLoss without archives.
Result<FoundObject> XrdecObject(std::string path, std::vector<RecoveredArchive> archives, Geometry geometry,
                                std::optional<uint64_t> size_bytes);

// Writes the object's bytes in order to `write`, one stripe at a time; every byte is checked by its page
// checksums or its member's CRC, and the whole by the manifest's checksums. `complain` hears of every chunk
// that is bad. Errors: kDataLoss naming the stripe, kCorruption when the whole does not match, those of
// `write`.
Status WriteObject(const FoundObject& object, const std::function<Status(ByteSpan)>& write,
                   const std::function<void(const std::string&)>& complain);

}  // namespace xec
