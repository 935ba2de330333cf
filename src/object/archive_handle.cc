// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archive_handle.hh"

#include <algorithm>

namespace xec {
namespace {

constexpr uint64_t kUsualManifestBytes = 4 * kKiB;

Task<void> CloseQuietly(CallContext call, ArchiveFilePtr file) {
  const Status closed = co_await Close(call, std::move(file));
  (void)closed;
}

uint64_t TailBytes(uint64_t archive_bytes, uint64_t chunk_bytes) {
  return std::min(kArchiveTailBytes,
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
         engine.ReadPatience(server, kArchiveTailBytes);
}

Task<Result<ArchiveEnd>> ReadArchiveEnd(Engine& engine, ArchiveFilePtr file, uint64_t chunk_bytes) {
  const uint64_t size = file->size();
  const uint64_t tail = TailBytes(size, chunk_bytes);
  uint64_t from = size > tail ? size - tail : 0;
  std::optional<ByteBudget::Lease> lease;
  if (size <= kWholeArchiveBytesMax) lease = engine.budget().TryAcquire(size + kBufferAlignment);
  if (lease) from = 0;
  while (true) {
    ByteBudget::Lease held = lease ? std::move(*lease) : ByteBudget::Lease();
    lease.reset();
    const bool whole = held.bytes() > 0;
    const std::shared_ptr<Buffer> buffer = Buffer::Allocate(size - from, std::move(held));
    Slice slice(buffer);
    std::vector<ByteRange> ranges = {ByteRange{from, size - from}};
    Result<uint64_t> got = uint64_t{0};
    if (size > from) got = co_await Read(engine.ReadCall(), file, std::move(ranges), slice);
    if (!got) co_return got.error();
    if (*got != size - from) co_return Fail(Code::kCorruption, "the archive ends early");
    Result<TailOutcome> parsed = ParseArchiveTail(slice.span(), size);
    if (!parsed) co_return parsed.error();
    if (parsed->index) co_return ArchiveEnd{std::move(*parsed->index), whole ? buffer : nullptr};
    if (parsed->need_from >= from) co_return Fail(Code::kCorruption, "the archive's end is inconsistent");
    from = parsed->need_from;
  }
}

void CloseLater(Engine& engine, ArchiveFilePtr file) {
  engine.scope().Spawn(CloseQuietly(engine.MetadataCall(), std::move(file)));
}

}  // namespace xec
