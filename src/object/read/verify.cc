// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/verify.hh"

#include "object/padded_coding.hh"
#include "object/read/archive_audit.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

ChunkReport ReportOf(const ReadContext& context, uint64_t stripe, uint32_t chunk) {
  ChunkReport report;
  report.stripe = stripe;
  report.chunk = chunk;
  report.bytes = context.ChunkBytes(stripe, chunk);
  const Result<MemberIndex> server = context.ServerOf(stripe, chunk);
  if (server) report.server = *server;
  return report;
}

void Fill(ChunkReport& report, const ReadContext& context, const ChunkAnswer& answer) {
  report.health = answer.health;
  report.doubted = answer.doubted;
  report.problem = answer.problem;
  if (answer.archive) {
    report.server = answer.archive->server();
    report.archive_path = answer.archive->path();
  }
  if (answer.health == ChunkHealth::kUnavailable)
    report.times_unread = context.archives->open().TimesUnread(report.server);
}

// Reads all chunks of a stripe whole, with their headers. `claim` is of their memory.
Task<Result<std::vector<ChunkAnswer>>> ReadAll(ReadContext context, uint64_t stripe,
                                               ByteBudget::Lease& claim) {
  const uint32_t total = context.geometry().Total();
  uint64_t bytes = 0;
  for (uint32_t chunk = 0; chunk < total; ++chunk) {
    const uint64_t size = context.ChunkBytes(stripe, chunk);
    if (size > 0) bytes += context.SlotBytes(size);
  }
  claim.Release();
  Result<ByteBudget::Claimed> leases = co_await context.engine().budget().ClaimAndAcquire(bytes);
  if (!leases) co_return leases.error();
  claim = std::move(leases->claim);
  Gather<ChunkAnswer> gather(context.engine().scope(), context.engine().executor());
  for (uint32_t chunk = 0; chunk < total; ++chunk) {
    const uint64_t size = context.ChunkBytes(stripe, chunk);
    if (size == 0) continue;
    const MemberName name{static_cast<uint32_t>(stripe), chunk};
    gather.Start(chunk, ReadChunk(context, name, ChunkRange{0, size},
                                  leases->memory.Split(context.SlotBytes(size)), true));
  }
  std::vector<ChunkAnswer> answers(total);
  while (gather.pending() > 0) {
    Gather<ChunkAnswer>::Event event = co_await gather.Next();
    answers[event.tag] = std::move(*event.value);
  }
  co_return std::move(answers);
}

bool AllGood(const ReadContext& context, uint64_t stripe, const std::vector<ChunkAnswer>& answers) {
  for (uint32_t chunk = 0; chunk < answers.size(); ++chunk) {
    if (context.ChunkBytes(stripe, chunk) > 0 && answers[chunk].health != ChunkHealth::kGood) return false;
  }
  return true;
}

// More is missing than parity makes good: lost it is only if all who could have it, or know where it is, have
// answered.
void Doubt(const ReadContext& context, uint64_t stripe, std::vector<ChunkAnswer>& answers) {
  uint32_t bad = 0;
  for (uint32_t chunk = 0; chunk < answers.size(); ++chunk) {
    if (context.ChunkBytes(stripe, chunk) > 0 && answers[chunk].health != ChunkHealth::kGood) ++bad;
  }
  if (bad <= context.geometry().parity_chunks || context.archives->strays().known()) return;
  for (ChunkAnswer& answer : answers) {
    if (answer.health != ChunkHealth::kMissing) continue;
    answer.health = ChunkHealth::kUnavailable;
    answer.doubted = true;
  }
}

// Of a lane there may be copies on several servers, bad one after the other.
constexpr int kSearchesMax = 4;

// Runs `ask` for the stripe; once more whenever chunks were not where they should be, or not good there, and
// were found elsewhere.
template <typename Ask>
Task<Result<std::vector<ChunkAnswer>>> Anywhere(ReadContext context, uint64_t stripe, Ask ask) {
  uint64_t changes = context.archives->strays().changes();
  Result<std::vector<ChunkAnswer>> answers = co_await ask(context, stripe);
  for (int searches = 0; searches < kSearchesMax; ++searches) {
    if (!answers || AllGood(context, stripe, *answers)) co_return std::move(answers);
    co_await context.archives->strays().Search();
    if (context.archives->strays().changes() == changes) break;
    changes = context.archives->strays().changes();
    answers->clear();  // they hold memory that the next time needs
    answers = co_await ask(context, stripe);
  }
  if (answers) Doubt(context, stripe, *answers);
  co_return std::move(answers);
}

// With all data chunks good, parity must be what they give: a checksum only says that it is what was written.
ChunkMask WrongParity(const ReadContext& context, uint64_t stripe, const std::vector<ChunkAnswer>& answers) {
  std::vector<ByteSpan> chunks(answers.size());
  for (uint32_t chunk = 0; chunk < answers.size(); ++chunk) {
    if (answers[chunk].health != ChunkHealth::kGood) return 0;
    chunks[chunk] = answers[chunk].data.span();
  }
  return VerifyPadded(CodecFor(context.geometry()), chunks, context.ChunkBytes(stripe, 0));
}

void Audit(ArchiveAudit& audit, const ReadContext& context, MemberName name, ChunkAnswer& answer) {
  if (answer.health != ChunkHealth::kGood) {
    if (answer.archive) audit.GiveUp(answer.archive->server());
    return;
  }
  const Status checked = audit.CheckHeader(context, name, answer);
  if (checked) return;
  answer.health = ChunkHealth::kCorrupt;
  answer.problem = checked.error().message;
}

Task<ChunkAnswer> LookForChunk(ReadContext context, uint64_t stripe, uint32_t chunk) {
  ChunkAnswer answer;
  const Result<MemberIndex> server = context.ServerOf(stripe, chunk);
  Result<LoadedArchive> loaded = Fail(Code::kInternal, "not loaded");
  if (server) {
    loaded = co_await context.archives->open().Load(*server);
  } else {
    loaded = server.error();
  }
  if (!loaded) {
    const Absence absence = AbsenceOf(loaded.code());
    answer.health = absence == Absence::kMissing   ? ChunkHealth::kMissing
                    : absence == Absence::kCorrupt ? ChunkHealth::kCorrupt
                                                   : ChunkHealth::kUnavailable;
    answer.problem = loaded.error().message;
    co_return std::move(answer);
  }
  answer.archive = loaded->archive;
  const ArchiveMember* member = answer.archive->Find(MemberName{static_cast<uint32_t>(stripe), chunk});
  if (member == nullptr) {
    answer.health = ChunkHealth::kMissing;
    answer.problem = "it is not in the archive's directory";
  } else if (member->size_bytes != context.ChunkBytes(stripe, chunk)) {
    answer.health = ChunkHealth::kCorrupt;
    answer.problem = "its size is wrong";
  }
  co_return std::move(answer);
}

Task<Result<std::vector<ChunkAnswer>>> LookForAll(ReadContext context, uint64_t stripe) {
  const uint32_t total = context.geometry().Total();
  Gather<ChunkAnswer> gather(context.engine().scope(), context.engine().executor());
  for (uint32_t chunk = 0; chunk < total; ++chunk) {
    if (context.ChunkBytes(stripe, chunk) > 0) gather.Start(chunk, LookForChunk(context, stripe, chunk));
  }
  std::vector<ChunkAnswer> answers(total);
  while (gather.pending() > 0) {
    Gather<ChunkAnswer>::Event event = co_await gather.Next();
    answers[event.tag] = std::move(*event.value);
  }
  co_return std::move(answers);
}

}  // namespace

Task<Status> VerifyObject(ReadContext context, std::function<void(const ChunkReport&)> report) {
  const StripeMap stripes = context.stripes();
  // Stock XrdEc fills fields of its headers in other ways than our writer.
  const bool ours = context.manifest->page_size_bytes != 0;
  ArchiveAudit audit;
  for (uint64_t at = 0; at < stripes.object_size(); at = stripes.At(at).end()) {
    const uint64_t stripe = stripes.At(at).stripe;
    ByteBudget::Lease claim;
    const auto read_all = [&claim](ReadContext of, uint64_t number) {
      return ReadAll(std::move(of), number, claim);
    };
    Result<std::vector<ChunkAnswer>> answers = co_await Anywhere(context, stripe, read_all);
    if (!answers) co_return answers.error();
    const ChunkMask wrong = WrongParity(context, stripe, *answers);
    for (uint32_t chunk = 0; chunk < answers->size(); ++chunk) {
      if (context.ChunkBytes(stripe, chunk) == 0) continue;
      ChunkAnswer& answer = (*answers)[chunk];
      if (wrong & ChunkBit(chunk)) {
        answer.health = ChunkHealth::kCorrupt;
        answer.problem = fmt::format("parity chunk {} is not what the data chunks give", chunk);
      }
      if (ours) Audit(audit, context, MemberName{static_cast<uint32_t>(stripe), chunk}, answer);
      ChunkReport line = ReportOf(context, stripe, chunk);
      Fill(line, context, answer);
      report(line);
    }
  }
  Result<std::vector<ArchiveAudit::Finding>> findings = co_await audit.CheckEnds(context);
  if (!findings) co_return findings.error();
  for (const ArchiveAudit::Finding& finding : *findings) {
    ChunkReport line = ReportOf(context, finding.last.stripe, finding.last.chunk);
    line.server = finding.archive->server();
    line.archive_path = finding.archive->path();
    line.health = ChunkHealth::kCorrupt;
    line.problem = finding.problem;
    report(line);
  }
  co_return OkStatus();
}

Task<Status> LocateObject(ReadContext context, std::function<void(const ChunkReport&)> report) {
  const StripeMap stripes = context.stripes();
  const uint32_t total = context.geometry().Total();
  for (uint64_t at = 0; at < stripes.object_size(); at = stripes.At(at).end()) {
    const uint64_t stripe = stripes.At(at).stripe;
    const Result<std::vector<ChunkAnswer>> answers = co_await Anywhere(context, stripe, LookForAll);
    if (!answers) co_return answers.error();
    for (uint32_t chunk = 0; chunk < total; ++chunk) {
      if (context.ChunkBytes(stripe, chunk) == 0) continue;
      ChunkReport line = ReportOf(context, stripe, chunk);
      Fill(line, context, (*answers)[chunk]);
      report(line);
    }
  }
  co_return OkStatus();
}

}  // namespace xec
