// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archives/archive_handle.hh"

#include <algorithm>

#include "commit/engine/archive_end.hh"

namespace xec {
namespace {

constexpr uint64_t kUsualManifestBytes = 4 * kKiB;

Task<void> CloseQuietly(CallContext call, ArchiveFilePtr file) {
  const Status closed = co_await Close(call, std::move(file));
  (void)closed;
}

// Where chunks have the configured size and the manifest the usual one, one request gets the end, and little
// more.
uint64_t FirstBytes(uint64_t archive_bytes, uint64_t chunk_bytes) {
  return std::min(ArchiveEndSearch::kFirstBytes,
                  ArchiveTailSizeMax(archive_bytes / chunk_bytes + 2, kUsualManifestBytes));
}

}  // namespace

Archive::Archive(MemberIndex server, FoundArchive found, ArchiveIndex index, Manifest manifest,
                 std::weak_ptr<Buffer> image)
    : server_(server),
      found_(std::move(found)),
      manifest_(std::move(manifest)),
      members_([&] {
        std::sort(index.members.begin(), index.members.end(),
                  [](const ArchiveMember& a, const ArchiveMember& b) { return a.name < b.name; });
        return std::move(index.members);
      }()),
      image_(std::move(image)) {}

const ArchiveMember* Archive::Find(MemberName name) const {
  const auto found =
      std::lower_bound(members_.begin(), members_.end(), name,
                       [](const ArchiveMember& member, MemberName n) { return member.name < n; });
  return found != members_.end() && found->name == name ? &*found : nullptr;
}

Absence AbsenceOf(Code code) {
  switch (code) {
    case Code::kNotFound: return Absence::kMissing;
    case Code::kCorruption:
    case Code::kUnreadable:
    case Code::kUnsupported: return Absence::kCorrupt;
    default: return Absence::kUnavailable;
  }
}

Duration PatienceToOpen(const Engine& engine, MemberIndex server) {
  return engine.health().Patience(server, RequestKind::kMetadata) +
         engine.ReadPatience(server, ArchiveEndSearch::kFirstBytes);
}

Task<ArchiveEndRead> ReadEndOrWhole(Engine& engine, ArchiveFilePtr file, uint64_t chunk_bytes,
                                    bool end_only) {
  const uint64_t size = file->size();
  uint64_t first_bytes = FirstBytes(size, chunk_bytes);
  std::optional<ByteBudget::Lease> memory;
  if (!end_only && size <= kWholeArchiveBytesMax)
    memory = engine.budget().TryAcquire(size + kBufferAlignment);
  if (memory) first_bytes = size;
  ByteBudget::Lease lease = memory ? std::move(*memory) : ByteBudget::Lease();
  ArchiveEnd end = co_await ReadArchiveEnd(engine.ReadCall(), std::move(file), first_bytes, std::move(lease));
  ArchiveEndRead read{std::move(end.index), nullptr};
  if (memory && end.bytes) read.image = end.bytes->buffer;
  co_return std::move(read);
}

void CloseLater(Engine& engine, ArchiveFilePtr file) {
  engine.scope().Spawn(CloseQuietly(engine.MetadataCall(), std::move(file)));
}

}  // namespace xec
