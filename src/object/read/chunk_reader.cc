// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/chunk_reader.hh"

#include <algorithm>
#include <bit>

#include "base/mutant.hh"
#include "codec/checksum.hh"

namespace xec {
namespace {

ChunkHealth HealthOf(Code code) {
  switch (AbsenceOf(code)) {
    case Absence::kMissing: return ChunkHealth::kMissing;
    case Absence::kCorrupt: return ChunkHealth::kCorrupt;
    case Absence::kUnavailable: break;
  }
  return ChunkHealth::kUnavailable;
}

ChunkAnswer Bad(Error error) {
  ChunkAnswer answer;
  answer.health = HealthOf(error.code);
  answer.code = error.code;
  answer.problem = std::move(error.message);
  return answer;
}

// Where the bytes of a request lie in its slice.
struct Fetched {
  Slice header;  // empty when the page checksums were known
  Slice data;
};

// Reads a header that no slot has room for, with memory of its own, and keeps what is needed of it. `lease`
// has HeaderBytesMax.
Task<Result<Slice>> FetchLongHeader(ReadContext context, ArchivePtr archive, ArchiveMember member,
                                    ByteBudget::Lease lease) {
  Result<ByteBudget::Lease> long_lease =
      co_await context.engine().long_headers().Acquire(member.header_size());
  if (!long_lease) co_return long_lease.error();
  const Slice whole(Buffer::Allocate(member.header_size(), std::move(*long_lease)));
  std::vector<ByteRange> ranges = {ByteRange{member.header_offset, member.header_size()}};
  Result<uint64_t> got =
      co_await Read(context.engine().ReadCall(), archive->file(), std::move(ranges), whole);
  if (!got) co_return got.error();
  if (*got != whole.length) co_return Fail(Code::kCorruption, "the archive ends early");
  const Result<PageChecksumTable> table = ParseLocalHeader(whole.span(), member);
  if (!table) co_return table.error();
  const std::vector<std::byte> condensed = CondenseLocalHeader(whole.span());
  const Slice kept(Buffer::Allocate(condensed.size(), std::move(lease)));
  std::ranges::copy(condensed, kept.span().begin());
  co_return kept;
}

// Reads header (if wanted) and range of a member, in one request unless the header is a long one.
Task<Result<Fetched>> Fetch(ReadContext context, ArchivePtr archive, ArchiveMember member, ChunkRange range,
                            bool with_header, ByteBudget::Lease lease) {
  Fetched fetched;
  if (const std::shared_ptr<Buffer> image = archive->image()) {
    if (with_header) fetched.header = Slice(image, member.header_offset, member.header_size());
    fetched.data = Slice(image, member.data_offset + range.begin, range.size());
    co_return std::move(fetched);
  }
  const bool apart = with_header && HasLongHeader(context, member);
  if (apart) {
    Result<Slice> header =
        co_await FetchLongHeader(context, archive, member, lease.Split(HeaderBytesMax(*context.manifest)));
    if (!header) co_return header.error();
    fetched.header = std::move(*header);
    if (range.size() == 0) co_return std::move(fetched);
    with_header = false;
  }
  const uint64_t header_bytes = with_header ? member.header_size() : 0;
  std::vector<ByteRange> ranges;
  if (with_header && range.begin == 0) {
    ranges.push_back(ByteRange{member.header_offset, header_bytes + range.end});
  } else {
    if (with_header) ranges.push_back(ByteRange{member.header_offset, header_bytes});
    ranges.push_back(ByteRange{member.data_offset + range.begin, range.size()});
  }
  const Slice slice(Buffer::Allocate(header_bytes + range.size(), std::move(lease)));
  Result<uint64_t> got =
      co_await Read(context.engine().ReadCall(), archive->file(), std::move(ranges), slice);
  if (!got) co_return got.error();
  if (*got != slice.length) co_return Fail(Code::kCorruption, "the archive ends early");
  if (with_header) fetched.header = slice.Sub(0, header_bytes);
  fetched.data = slice.Sub(header_bytes, range.size());
  co_return std::move(fetched);
}

// Sites may have configured XrdEc to put CRC-32C into the field of CRC-32.
Status CheckWhole(ByteSpan data, const ArchiveMember& member) {
  if (Crc32(data) == member.crc32 || Crc32c(data) == member.crc32) return OkStatus();
  return Fail(Code::kCorruption, "its bytes have not the CRC of the directory");
}

// Verifies the range by the header that was read with it.
Status Verify(const ReadContext& context, MemberIndex server, const ArchiveMember& member,
              const Fetched& fetched, ChunkRange range, bool thorough) {
  XEC_ASSIGN_OR_RETURN(const PageTables::Table table, ParseTable(context, member, fetched.header.span()));
  const ByteSpan data = fetched.data.span();
  const bool pages = table->page_size_bytes != 0;
  if (pages) XEC_TRY(CheckPages(data, range, *table));
  if (!pages || thorough) XEC_TRY(CheckWhole(data, member));
  if (pages && range.size() < member.size_bytes)
    context.tables().Keep(context.TableKey(server, member.name), table);
  return OkStatus();
}

// Fetches the range and verifies it by the page checksums that are kept, if there are any. Errors:
// kCorruption, kUnsupported, or what the server said.
Task<Result<Fetched>> FetchGood(ReadContext context, ArchivePtr archive, ArchiveMember member,
                                ChunkRange range, ByteBudget::Lease lease, bool thorough) {
  const PageTables::Key key = context.TableKey(archive->server(), member.name);
  PageTables::Table kept;
  if (!thorough) kept = context.tables().Find(key);
  ByteBudget::Lease for_header = lease.Split(kept ? HeaderBytesMax(*context.manifest) : 0);
  Result<Fetched> fetched = co_await Fetch(context, archive, member, range, !kept, std::move(lease));
  if (!fetched) co_return std::move(fetched);
  if (kept) {
    const Status checked = CheckPages(fetched->data.span(), range, *kept);
    if (checked) co_return std::move(fetched);
    // The kept checksums may be older than a repair of the archive.
    Result<Fetched> again =
        co_await Fetch(context, archive, member, ChunkRange{0, 0}, true, std::move(for_header));
    if (!again) co_return again.error();
    fetched->header = again->header;
    context.tables().Forget(key);
  }
  Status verified = Verify(context, archive->server(), member, *fetched, range, thorough);
  if (!verified) co_return verified.error();
  co_return std::move(fetched);
}

}  // namespace

const ArchiveMember* FindMember(const ReadContext& context, MemberName name, ArchivePtr& archive) {
  if (const ArchiveMember* member = archive->Find(name)) return member;
  for (const ArchivePtr& other : context.archives->open().All()) {
    if (const ArchiveMember* member = other->Find(name)) {
      archive = other;
      return member;
    }
  }
  return nullptr;
}

Result<PageTables::Table> ParseTable(const ReadContext& context, const ArchiveMember& member,
                                     ByteSpan header) {
  XEC_ASSIGN_OR_RETURN(PageChecksumTable parsed, ParseLocalHeader(header, member));
  const uint32_t expected = context.manifest->page_size_bytes;
  // Without pages in the manifest a chunk is read and checked whole, whatever its header has.
  if (expected == 0) parsed = PageChecksumTable{};
  if (parsed.page_size_bytes != expected) {
    return Fail(Code::kCorruption, "its pages have {} bytes instead of {}", parsed.page_size_bytes, expected);
  }
  return std::make_shared<const PageChecksumTable>(std::move(parsed));
}

Status CheckPages(ByteSpan data, ChunkRange range, const PageChecksumTable& table) {
  if (MutantActive(Mutant::kIgnorePageChecksum)) return OkStatus();
  const size_t page_size = table.page_size_bytes;
  std::vector<uint32_t> found((data.size() + page_size - 1) / page_size);
  PageChecksums(data, page_size, found);
  const size_t first = range.begin / page_size;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] != table.crc32c[first + i]) {
      return Fail(Code::kCorruption, "page {} has not the checksum it was written with", first + i);
    }
  }
  return OkStatus();
}

bool HasRightSize(const ReadContext& context, const ArchiveMember& member) {
  return member.size_bytes == context.ChunkBytes(member.name.stripe, member.name.chunk);
}

bool HasLongHeader(const ReadContext& context, const ArchiveMember& member) {
  return member.header_size() > HeaderBytesMax(*context.manifest);
}

ChunkRange ReadContext::Align(uint64_t begin, uint64_t end, uint64_t chunk_bytes) const {
  const uint64_t page = manifest->page_size_bytes;
  if (page == 0) return ChunkRange{0, chunk_bytes};
  return ChunkRange{begin / page * page, std::min(chunk_bytes, (end + page - 1) / page * page)};
}

uint64_t HeaderBytesMax(const Manifest& manifest) {
  const uint64_t page = manifest.page_size_bytes;
  const uint64_t pages = page == 0 ? 0 : (manifest.geometry.chunk_size_bytes + page - 1) / page;
  // Stock XrdEc writes no extra fields; a few bytes more do not hurt.
  return LocalHeaderSizeMax(std::min(pages, kPagesPerChunkMax)) + 64;
}

uint64_t SlotBytes(const Manifest& manifest, uint64_t range_bytes) {
  return (HeaderBytesMax(manifest) + range_bytes + kBufferAlignment - 1) / kBufferAlignment *
         kBufferAlignment;
}

uint64_t PieceBytesToRead(const Manifest& manifest, uint64_t piece_bytes) {
  return piece_bytes + manifest.geometry.Total() * SlotBytes(manifest, piece_bytes);
}

Task<ChunkAnswer> ReadChunk(ReadContext context, MemberName name, ChunkRange range, ByteBudget::Lease lease,
                            bool thorough) {
  const Result<MemberIndex> server = context.ServerOf(name.stripe, name.chunk);
  if (!server) {
    context.archives->strays().StartSearch();
    co_return Bad(server.error());
  }
  const std::string& id = context.engine().server_id(*server);

  Result<LoadedArchive> loaded = co_await context.archives->open().Load(*server);
  if (!loaded) {
    context.archives->strays().StartSearch();
    co_return Bad(Fail(loaded.code(), "chunk {} on {}: {}", name.chunk, id, loaded.error().message));
  }
  ArchivePtr archive = loaded->archive;
  const ArchiveMember* member = FindMember(context, name, archive);
  if (member == nullptr) {
    context.archives->strays().StartSearch();
    co_return Bad(Fail(Code::kNotFound, "chunk {} is not in {} on {}", name.chunk, archive->path(), id));
  }
  Status status;
  if (!HasRightSize(context, *member)) status = Fail(Code::kCorruption, "its size is wrong");
  ChunkAnswer answer;
  if (status) {
    Result<Fetched> fetched =
        co_await FetchGood(context, archive, *member, range, std::move(lease), thorough);
    if (fetched) {
      answer.data = fetched->data;
      answer.header = fetched->header;
    } else {
      status = fetched.error();
      if (AbsenceOf(status.code()) == Absence::kUnavailable)
        context.archives->open().Forget(*server, archive, name, status.error());
    }
  }
  if (!status) {
    answer = Bad(Fail(status.code(), "chunk {} in {} on {}: {}", name.chunk, archive->path(), id,
                      status.error().message));
    if (AbsenceOf(status.code()) == Absence::kCorrupt)
      context.archives->open().NoteCorrupt(archive, answer.problem);
  }
  answer.archive = std::move(archive);
  co_return std::move(answer);
}

Error UnreadableStripe(const ReadContext& context, uint64_t stripe, std::span<const ChunkAnswer> answers,
                       ChunkMask bad) {
  std::string problems;
  bool unavailable = !context.archives->strays().known();
  for (uint32_t chunk = 0; chunk < answers.size(); ++chunk) {
    if (!(bad & ChunkBit(chunk))) continue;
    if (answers[chunk].health == ChunkHealth::kUnavailable) unavailable = true;
    problems += (problems.empty() ? "" : "; ") + answers[chunk].problem;
  }
  const Geometry& geometry = context.geometry();
  const std::string& path = context.archives->info().path.text();
  const int left = static_cast<int>(geometry.Total()) - std::popcount(bad);
  if (unavailable) {
    return Fail(Code::kUnavailable,
                "cannot read stripe {} of {} now: at most {} of the {} chunks needed can be had ({})", stripe,
                path, left, geometry.data_chunks, problems);
  }
  return Fail(Code::kDataLoss, "stripe {} of {} is lost: {} of the {} chunks needed are good ({})", stripe,
              path, left, geometry.data_chunks, problems);
}

}  // namespace xec
