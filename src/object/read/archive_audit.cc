// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/archive_audit.hh"

#include <algorithm>
#include <cstring>

namespace xec {
namespace {

// A writer that has written the archive up to where it had nothing to add but the end, and what it adds.
struct Written {
  ArchiveWriter writer;
  RunEnd run_end = RunEnd::kAsItIs;
};

// Is the end of the archive what the writer makes, given the manifest that is there?
Result<bool> EndIsAsWritten(const Written& written, ByteSpan end, uint64_t archive_size) {
  XEC_ASSIGN_OR_RETURN(const TailOutcome parsed, ParseArchiveTail(end, archive_size));
  if (!parsed.index) return Fail(Code::kCorruption, "its end is inconsistent");
  XEC_ASSIGN_OR_RETURN(const std::vector<std::byte> expected,
                       written.writer.Finish(parsed.index->manifest, written.run_end));
  // If the length differs, the writer had to avoid an ambiguous end record and chose another form than it
  // does here.
  return expected.size() != end.size() || std::memcmp(expected.data(), end.data(), end.size()) == 0;
}

Written WrittenWith(std::vector<ArchiveMember> members) {
  std::sort(members.begin(), members.end(),
            [](const ArchiveMember& a, const ArchiveMember& b) { return a.header_offset < b.header_offset; });
  Written written;
  if (!members.empty() && members.back().IsRunFiller()) {
    written.run_end = RunEnd::kAligned;
    members.pop_back();
  }
  for (const ArchiveMember& member : members)
    written.writer.AddPlaced(member.name, member.size_bytes, member.crc32, member.header_size());
  return written;
}

size_t CountChunks(const Archive& archive) {
  return static_cast<size_t>(
      std::count_if(archive.members().begin(), archive.members().end(),
                    [](const ArchiveMember& member) { return !member.IsRunFiller(); }));
}

}  // namespace

Status ArchiveAudit::CheckHeader(const ReadContext& context, MemberName name, const ChunkAnswer& answer) {
  const ArchiveMember* member = answer.archive->Find(name);
  Lane& lane = lanes_[answer.archive->server()];
  lane.archive = answer.archive;
  lane.last = name;
  XEC_ASSIGN_OR_RETURN(const PageChecksumTable table, ParseLocalHeader(answer.header.span(), *member));
  MemberHeader header;
  header.name = name;
  header.size_bytes = member->size_bytes;
  header.crc32 = member->crc32;
  header.page_crc32c = table.crc32c;
  header.page_size_bytes = table.page_size_bytes;
  std::vector<std::byte> expected(HeaderBytesMax(*context.manifest));
  XEC_ASSIGN_OR_RETURN(const PlacedHeader placed, ArchiveWriter().LocalHeader(header, expected));
  const ByteSpan made = ByteSpan(expected).last(placed.size_bytes);
  // Fillers depend on the place in the archive.
  if (!std::ranges::equal(made, CondenseLocalHeader(answer.header.span()))) {
    lane.broken = true;
    return Fail(Code::kCorruption, "the local header of chunk {} in {} on {} is damaged", name.chunk,
                answer.archive->path(), context.engine().server_id(answer.archive->server()));
  }
  ++lane.good;
  return OkStatus();
}

Task<Result<std::vector<ArchiveAudit::Finding>>> ArchiveAudit::CheckEnds(ReadContext context) {
  std::vector<Finding> findings;
  Engine& engine = context.engine();
  for (auto& [server, lane] : lanes_) {
    // If a lane was read from two archives, neither was read whole.
    if (lane.broken || lane.good != CountChunks(*lane.archive)) continue;
    const ArchiveFilePtr file = lane.archive->file();
    const Written written = WrittenWith(lane.archive->members());
    const uint64_t from = written.writer.next_offset();
    if (from > file->size()) continue;
    const uint64_t bytes = file->size() - from;
    Result<ByteBudget::Claimed> leases = co_await engine.budget().ClaimAndAcquire(bytes + kBufferAlignment);
    if (!leases) co_return leases.error();
    const Slice slice(Buffer::Allocate(bytes, std::move(leases->memory)));
    std::vector<ByteRange> ranges = {ByteRange{from, bytes}};
    const Result<uint64_t> got = co_await Read(engine.ReadCall(), file, std::move(ranges), slice);
    // A server that does not answer now says nothing about its archive.
    if (!got && AbsenceOf(got.code()) == Absence::kUnavailable) continue;
    Result<bool> as_written = false;
    if (got) as_written = EndIsAsWritten(written, slice.span().first(*got), file->size());
    if (as_written && *as_written) continue;
    findings.push_back(Finding{lane.archive, lane.last,
                               fmt::format("the directory at the end of {} on {} is damaged",
                                           lane.archive->path(), engine.server_id(server))});
  }
  co_return std::move(findings);
}

}  // namespace xec
