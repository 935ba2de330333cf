// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/vector_read.hh"

#include <algorithm>
#include <cstring>
#include <map>

#include "commit/engine/server_gather.hh"

namespace xec {
namespace {

// So much memory has one round of requests.
constexpr uint64_t kRoundBytesMax = 64 * kMiB;

// Pages of one chunk that lie side by side, and the pieces in them.
struct Run {
  MemberName name;
  ChunkRange range;
  std::vector<size_t> pieces;
};

// Runs of one archive, as read and verified; empty where they are not good.
using RunBytes = std::vector<Slice>;

// The runs of pieces that are sorted by chunk and begin, by server. Pieces of servers that are not well are
// not in them.
using RunsOfServers = std::map<MemberIndex, std::vector<Run>>;

bool IsWell(const ReadContext& context, MemberIndex server) {
  return context.engine().Rank(server) == 0 && !context.archives->open().HasFailed(server);
}

RunsOfServers PlanRuns(const ReadContext& context, const std::vector<ChunkPiece>& pieces, size_t begin,
                       size_t end) {
  RunsOfServers servers;
  for (size_t i = begin; i < end; ++i) {
    const ChunkPiece& piece = pieces[i];
    const Result<MemberIndex> server = context.ServerOf(piece.stripe, piece.chunk);
    if (!server || !IsWell(context, *server)) continue;
    const MemberName name{static_cast<uint32_t>(piece.stripe), piece.chunk};
    const ChunkRange range =
        context.Align(piece.exact.begin, piece.exact.end, context.ChunkBytes(piece.stripe, piece.chunk));
    std::vector<Run>& runs = servers[*server];
    if (!runs.empty() && runs.back().name == name && range.begin <= runs.back().range.end) {
      runs.back().range.end = std::max(runs.back().range.end, range.end);
    } else {
      runs.push_back(Run{.name = name, .range = range, .pieces = {}});
    }
    runs.back().pieces.push_back(i);
  }
  return servers;
}

uint64_t BytesOf(const ReadContext& context, const std::vector<Run>& runs) {
  uint64_t bytes = 0;
  for (const Run& run : runs) bytes += context.SlotBytes(run.range.size());
  return bytes;
}

// One run in the request to its archive.
struct Asked {
  size_t run = 0;
  const ArchiveMember* member = nullptr;
  PageTables::Table table;  // null: the header is read, too
  size_t header_at = 0;     // in what is read; the same for all runs of a chunk
  size_t data_at = 0;
};

// The runs that the archive has, and what is read for them, in the order of the archive.
std::vector<Asked> Ask(const ReadContext& context, const std::vector<Run>& runs, const ArchivePtr& archive,
                       std::vector<ByteRange>& ranges) {
  std::vector<Asked> asked;
  for (size_t i = 0; i < runs.size(); ++i) {
    const ArchiveMember* member = archive->Find(runs[i].name);
    if (member == nullptr || !HasRightSize(context, *member)) continue;
    PageTables::Table table = context.tables().Find(context.TableKey(archive->server(), member->name));
    if (!table && HasLongHeader(context, *member)) continue;
    asked.push_back({i, member, std::move(table)});
  }
  std::sort(asked.begin(), asked.end(), [&](const Asked& left, const Asked& right) {
    return std::pair(left.member->data_offset, runs[left.run].range.begin) <
           std::pair(right.member->data_offset, runs[right.run].range.begin);
  });
  uint64_t length = 0;
  const Asked* before = nullptr;
  for (Asked& one : asked) {
    const ChunkRange& range = runs[one.run].range;
    if (before != nullptr && before->member == one.member) {
      one.table = before->table;
      one.header_at = before->header_at;
    } else if (!one.table) {
      one.header_at = length;
      ranges.push_back({one.member->header_offset, one.member->header_size()});
      length += one.member->header_size();
    }
    one.data_at = length;
    ranges.push_back({one.member->data_offset + range.begin, range.size()});
    length += range.size();
    before = &one;
  }
  return asked;
}

Result<Slice> Check(const ReadContext& context, MemberIndex server, const Run& run, const Asked& asked,
                    const Slice& bytes) {
  const PageTables::Key key = context.TableKey(server, run.name);
  PageTables::Table table = asked.table;
  if (!table) {
    const Slice header = bytes.Sub(asked.header_at, asked.member->header_size());
    XEC_ASSIGN_OR_RETURN(table, ParseTable(context, *asked.member, header.span()));
  }
  const Slice data = bytes.Sub(asked.data_at, run.range.size());
  const Status checked = CheckPages(data.span(), run.range, *table);
  // A table that was kept may be older than a repair of the archive.
  if (!checked && asked.table) context.tables().Forget(key);
  if (!checked) return checked.error();
  if (!asked.table) context.tables().Keep(key, table);
  return data;
}

// `lease` has BytesOf(runs).
Task<RunBytes> ReadRuns(ReadContext context, MemberIndex server, std::vector<Run> runs,
                        ByteBudget::Lease lease) {
  RunBytes good(runs.size());
  Result<LoadedArchive> loaded = co_await context.archives->open().Load(server);
  if (!loaded || loaded->archive->image()) co_return std::move(good);
  const ArchivePtr archive = loaded->archive;
  std::vector<ByteRange> ranges;
  const std::vector<Asked> asked = Ask(context, runs, archive, ranges);
  if (asked.empty()) co_return std::move(good);
  uint64_t length = 0;
  for (const ByteRange& range : ranges) length += range.length;
  const Slice bytes(Buffer::Allocate(length, std::move(lease)));
  Result<uint64_t> got =
      co_await Read(context.engine().ReadCall(), archive->file(), std::move(ranges), bytes);
  // The reason is told when the pieces are read one by one.
  if (!got || *got != length) co_return std::move(good);
  for (const Asked& one : asked) {
    Result<Slice> data = Check(context, archive->server(), runs[one.run], one, bytes);
    if (data) good[one.run] = std::move(*data);
  }
  co_return std::move(good);
}

void Deliver(const std::vector<Run>& runs, const RunBytes& bytes, std::vector<ChunkPiece>& pieces,
             std::vector<bool>& done) {
  for (size_t i = 0; i < runs.size(); ++i) {
    if (bytes[i].length == 0) continue;
    for (const size_t number : runs[i].pieces) {
      const ChunkPiece& piece = pieces[number];
      std::memcpy(piece.into.data(), bytes[i].span().data() + (piece.exact.begin - runs[i].range.begin),
                  piece.into.size());
      done[number] = true;
    }
  }
}

// Makes one request to each server, and leaves out those that are late or bad.
Task<void> ReadRound(ReadContext context, RunsOfServers servers, std::vector<ChunkPiece>& pieces,
                     std::vector<bool>& done) {
  Engine& engine = context.engine();
  ServerGather<RunBytes> gather(engine);
  for (const auto& [server, runs] : servers) {
    const uint64_t bytes = BytesOf(context, runs);
    std::optional<ByteBudget::Lease> lease = context.memory().TryAcquire(bytes);
    if (!lease) continue;
    engine.hedges().Note(1);
    gather.Start(server, server, context.archives->open().Patience(server, bytes),
                 ReadRuns(context, server, runs, std::move(*lease)));
  }
  while (gather.timely() > 0) {
    ServerGather<RunBytes>::Event event = co_await gather.Next();
    if (event.value) Deliver(servers[event.member], *event.value, pieces, done);
  }
}

}  // namespace

Task<std::vector<ChunkPiece>> ReadPieces(ReadContext context, std::vector<ChunkPiece> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const ChunkPiece& left, const ChunkPiece& right) {
    return std::tuple(left.stripe, left.chunk, left.exact.begin) <
           std::tuple(right.stripe, right.chunk, right.exact.begin);
  });
  std::vector<bool> done(pieces.size());
  for (size_t begin = 0; begin < pieces.size();) {
    uint64_t bytes = 0;
    size_t end = begin;
    while (end < pieces.size() && (end == begin || bytes < kRoundBytesMax))
      bytes += context.SlotBytes(pieces[end++].exact.size());
    co_await ReadRound(context, PlanRuns(context, pieces, begin, end), pieces, done);
    begin = end;
  }
  std::vector<ChunkPiece> left;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!done[i]) left.push_back(pieces[i]);
  }
  co_return std::move(left);
}

}  // namespace xec
