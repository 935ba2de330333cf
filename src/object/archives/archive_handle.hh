// SPDX-License-Identifier: LGPL-3.0-or-later
// Archive: one open archive of a version, with its directory and its manifest; and how its end is read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "archive/archive_reader.hh"
#include "archive/manifest.hh"
#include "commit/engine/engine.hh"

namespace xec {

// Archives up to this size are read whole at the first touch: one request for end and chunks of a small
// object.
constexpr uint64_t kWholeArchiveBytesMax = 128 * kKiB;
// A file that should be an archive of the version, just opened.
struct FoundArchive {
  std::string path;
  ArchiveFilePtr file;
  bool is_witness = false;  // it tells about the object, and has no chunks
};

// Its end was read and found to belong to the version. Immutable.
class Archive {
 public:
  // `image`: all its bytes, if they were read.
  Archive(MemberIndex server, FoundArchive found, ArchiveIndex index, Manifest manifest,
          std::weak_ptr<Buffer> image);

  MemberIndex server() const { return server_; }
  const std::string& path() const { return found_.path; }
  const ArchiveFilePtr& file() const { return found_.file; }
  bool is_witness() const { return found_.is_witness; }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<ArchiveMember>& members() const { return members_; }  // sorted by name
  // The directory's record of a chunk; null when it is not here.
  const ArchiveMember* Find(MemberName name) const;
  // All bytes of the archive, while some read that loaded them goes on; else null.
  std::shared_ptr<Buffer> image() const { return image_.lock(); }

 private:
  const MemberIndex server_;
  const FoundArchive found_;
  const Manifest manifest_;
  const std::vector<ArchiveMember> members_;
  const std::weak_ptr<Buffer> image_;
};
using ArchivePtr = std::shared_ptr<const Archive>;

struct LoadedArchive {
  ArchivePtr archive;
  std::shared_ptr<Buffer> image;  // keeps Archive::image() alive; null when it was not read whole
};

// Why an archive cannot be had, apart from the words.
enum class Absence {
  kMissing,  // its server says that it is not there
  kCorrupt,  // it is there, but damaged, unreadable or of another object
  kUnavailable,  // its server does not answer, or refuses us
};
Absence AbsenceOf(Code code);

// For one open and one read of an archive's end.
Duration PatienceToOpen(const Engine& engine, MemberIndex server);

// Reads and parses the end of an archive; the whole archive when it is small and memory is at hand, unless
// only the end is wanted. `chunk_bytes`: probably that of the archive.
struct ArchiveEndRead {
  Result<ArchiveIndex> index = Fail(Code::kCorruption, "the archive was not read");
  std::shared_ptr<Buffer> image;  // null unless the archive was read whole
};
Task<ArchiveEndRead> ReadEndOrWhole(Engine& engine, ArchiveFilePtr file, uint64_t chunk_bytes, bool end_only);

// In the background; nothing is lost when a file opened for reading does not close well.
void CloseLater(Engine& engine, ArchiveFilePtr file);

}  // namespace xec
