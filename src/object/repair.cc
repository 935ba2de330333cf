// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair.hh"

#include <algorithm>
#include <map>

#include "base/log.hh"
#include "commit/place_copy.hh"
#include "commit/server_gather.hh"
#include "object/chunk_reader.hh"
#include "object/layout.hh"
#include "object/repair_copy.hh"
#include "object/spares.hh"
#include "object/stripe_buffer.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// A server is late when it takes so many times as long as those that have answered; as for uploads
// (stripe_failover.cc).
constexpr int kLateFactor = 4;
// Nobody waits for a repair: so long a silence is no lateness.
constexpr Duration kListPatience = std::chrono::seconds(1);
// An object is begun with anew where servers turn out to be full while they are written to.
constexpr int kRoundsMax = 3;

bool IsOneOf(const std::vector<MemberIndex>& members, size_t member) {
  return std::find(members.begin(), members.end(), member) != members.end();
}

// Will the chunk's server never answer again?
bool IsGone(const Engine& engine, const Manifest& manifest, const RepairOptions& options,
            const ChunkReport& chunk) {
  if (chunk.health != ChunkHealth::kUnavailable) return false;
  if (chunk.server < engine.server_count()) return IsOneOf(options.gone, chunk.server);
  const uint32_t lane = LaneOfChunk(chunk.stripe, chunk.chunk, manifest.geometry.Total());
  return lane < manifest.servers.size() && !engine.FindMember(manifest.servers[lane]);
}

class Repair {
 public:
  Repair(Engine& engine, NameInfo info, std::shared_ptr<ObjectReader> reader, Manifest manifest,
         RepairOptions options, RepairReport before, std::map<MemberIndex, std::string> refusing,
         bool last_round)
      : engine_(engine),
        info_(std::move(info)),
        reader_(std::move(reader)),
        manifest_(std::move(manifest)),
        options_(std::move(options)),
        refusing_(std::move(refusing)),
        last_round_(last_round),
        report_(std::move(before)) {
    // What was bad and is not made is found again.
    report_.archives_bad = report_.archives_made;
    report_.archives_silent = 0;
    report_.silent.clear();
  }

  Task<Result<RepairReport>> Run();
  // Servers that took a copy's file, but not its bytes, and what they said: they are full, say.
  const std::map<MemberIndex, std::string>& refusing() const { return refusing_; }

 private:
  Task<void> ListArchives();
  Task<Status> FindBad();
  void NoteSilent(MemberIndex server);
  std::vector<MemberIndex> Targets(uint32_t lane) const;
  Task<bool> HoldsAnother(MemberIndex server, uint32_t lane);
  Task<void> OpenCopy(uint32_t lane);
  Task<Status> WriteStripes(ObjectDigests& digests);
  uint64_t PieceBytes(uint64_t stripe_bytes) const;
  Task<Status> WriteStripe(uint64_t stripe, ObjectDigests& digests);
  Task<Status> WriteChunks(std::shared_ptr<StripeBuffer> stripe, Duration reading);
  bool AllFailed() const;
  Status CheckDigests(ObjectDigests& digests) const;
  Task<void> EndArchives(Duration writing);
  Task<void> Place(ArchiveCopy& copy);
  Task<void> RemoveBadOf(uint32_t lane, MemberIndex server);
  Manifest ManifestOf(const ArchiveCopy& copy) const;

  Engine& engine_;
  const NameInfo info_;
  const std::shared_ptr<ObjectReader> reader_;
  const Manifest manifest_;
  const RepairOptions options_;
  std::map<MemberIndex, std::string> refusing_;
  const bool last_round_;
  RepairReport report_;
  std::map<uint32_t, std::string> wrong_;  // by lane: the first thing that is wrong with it
  std::vector<uint32_t> bad_;         // lanes, ascending
  std::map<uint32_t, MemberIndex> found_on_;  // by lane: its server, also of a damaged archive
  std::vector<MemberIndex> holders_;          // servers with a good or silent archive
  // By server: the archive of the version that was listed there before it was read, if any.
  std::map<MemberIndex, std::optional<State>> listed_;
  std::vector<ArchiveCopy> copies_;
};

// What the servers that the manifest names have, before it is read: what comes there later is not what was
// read, but another repair's. Where the listing fails nothing counts as listed. Servers that were bad when
// they were last asked are waited for as well: they may be back, and what they have is read then.
Task<void> Repair::ListArchives() {
  for (const auto& [home, states] : info_.listings) listed_[home] = ArchiveInPlace(states, info_.accepted);
  ServerGather<Result<States>> lists(engine_, RequestKind::kMetadata, kListPatience);
  for (const std::string& id : manifest_.servers) {
    const std::optional<MemberIndex> server = engine_.FindMember(id);
    if (!server || !listed_.emplace(*server, std::nullopt).second) continue;
    lists.Start(*server, ListStates(engine_, *server, info_.path));
  }
  const TimePoint until = engine_.executor().Now() + kListPatience;
  while (lists.pending() > 0) {
    const bool for_all = engine_.executor().Now() < until;
    if (!for_all && lists.timely() == 0) break;
    const TimePoint next = for_all ? until : TimePoint::max();
    const auto event = co_await lists.Next(next);
    if (event.value && *event.value) listed_[event.member] = ArchiveInPlace(**event.value, info_.accepted);
  }
}

// A lane is bad when a chunk of it is; it is silent when its server does not answer, but may come back.
Task<Status> Repair::FindBad() {
  const uint32_t total = manifest_.geometry.Total();
  std::vector<bool> bad(total, false), silent(total, false);
  Status verified = co_await reader_->Verify([&](const ChunkReport& chunk) {
    options_.progress(chunk.bytes);
    const uint32_t lane = LaneOfChunk(chunk.stripe, chunk.chunk, total);
    const bool gone = IsGone(engine_, manifest_, options_, chunk);
    if (chunk.health == ChunkHealth::kUnavailable && !gone) {
      silent[lane] = true;
      if (chunk.server < engine_.server_count()) NoteSilent(chunk.server);
    } else if (chunk.health != ChunkHealth::kGood) {
      bad[lane] = true;
      wrong_.emplace(lane, chunk.problem);
    }
    if (chunk.server < engine_.server_count() && chunk.health != ChunkHealth::kMissing && !gone)
      found_on_[lane] = chunk.server;
  });
  for (uint32_t lane = 0; lane < total; ++lane) {
    if (silent[lane]) ++report_.archives_silent;
    if (bad[lane] && !silent[lane]) bad_.push_back(lane);
    const auto found = found_on_.find(lane);
    if (!bad[lane] && found != found_on_.end()) holders_.push_back(found->second);
  }
  report_.archives_bad += bad_.size();
  co_return std::move(verified);
}

void Repair::NoteSilent(MemberIndex server) {
  std::vector<MemberIndex>& silent = report_.silent;
  const auto place = std::lower_bound(silent.begin(), silent.end(), server);
  if (place == silent.end() || *place != server) silent.insert(place, server);
}

// Servers that may take the lane: the one that has it damaged, or should have it, then those that hold
// nothing of the object.
std::vector<MemberIndex> Repair::Targets(uint32_t lane) const {
  std::vector<MemberIndex> targets;
  const auto found = found_on_.find(lane);
  if (found != found_on_.end()) targets.push_back(found->second);
  if (targets.empty() && lane < manifest_.servers.size()) {
    const std::optional<MemberIndex> named = engine_.FindMember(manifest_.servers[lane]);
    if (named) targets.push_back(*named);
  }
  std::vector<MemberIndex> taken = holders_;
  for (const ArchiveCopy& copy : copies_) taken.push_back(copy.server);
  for (const MemberIndex spare :
       SparesFor(engine_, info_.path, manifest_, taken, manifest_.geometry.parity_chunks)) {
    if (!IsOneOf(targets, spare)) targets.push_back(spare);
  }
  // Servers that came back with nothing, while what they had lies elsewhere by now.
  for (uint32_t other = 0; other < manifest_.servers.size(); ++other) {
    const std::optional<MemberIndex> named = engine_.FindMember(manifest_.servers[other]);
    const auto now = found_on_.find(other);
    if (named && now != found_on_.end() && now->second != *named) targets.push_back(*named);
  }
  std::erase_if(targets, [&](MemberIndex target) {
    return IsOneOf(options_.gone, target) || IsOneOf(taken, target) ||
           refusing_.contains(static_cast<MemberIndex>(target));
  });
  return targets;
}

// Has the server an archive of the version that is not this lane's? A copy would have to take its place, and
// cannot where it is a home that is needed.
Task<bool> Repair::HoldsAnother(MemberIndex server, uint32_t lane) {
  const auto found = found_on_.find(lane);
  if (found != found_on_.end() && found->second == server) co_return false;
  if (lane < manifest_.servers.size() && manifest_.servers[lane] == engine_.server_id(server))
    co_return false;
  const Result<States> states = co_await ListStates(engine_, server, info_.path);
  if (!states) co_return false;
  const std::optional<State> archive = ArchiveInPlace(*states, info_.accepted);
  listed_.emplace(server, archive);
  co_return archive.has_value();
}

// Creates the copy's file on the first server that takes it.
Task<void> Repair::OpenCopy(uint32_t lane) {
  std::string problems;
  for (const auto& [server, said] : refusing_)
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", engine_.server_id(server), said);
  std::vector<MemberIndex> targets = Targets(lane);
  const size_t count = targets.size();
  for (size_t i = 0; i < targets.size(); ++i) {
    const MemberIndex server = targets[i];
    bool later = false;
    if (i < count) later = co_await HoldsAnother(server, lane);
    if (later) {
      targets.push_back(server);
      continue;
    }
    if (!listed_.contains(server)) {
      // No manifest names it: it was found by reading.
      const Result<States> states = co_await ListStates(engine_, server, info_.path);
      listed_[server] = states ? ArchiveInPlace(*states, info_.accepted) : std::nullopt;
    }
    ArchiveCopy copy;
    copy.lane = lane;
    copy.server = server;
    copy.replaces = listed_[server];
    copy.draft = DraftOf(engine_, info_.accepted);
    const Status named = co_await KeepLongName(engine_, server, info_.path);
    Result<ArchiveFilePtr> file = named.has_value() ? Result<ArchiveFilePtr>(nullptr) : named.error();
    if (named) {
      file = co_await Open(engine_.MetadataCall(), engine_.server(server),
                           StatePath(info_.path, FormatState(copy.draft)), OpenMode::kCreate);
    }
    if (file) {
      copy.file = std::move(*file);
      copies_.push_back(std::move(copy));
      co_return;
    }
    problems += fmt::format("{}{}: {}", problems.empty() ? "" : "; ", engine_.server_id(server),
                            file.error().message);
    // It answers again sooner or later, with the damaged archive: that is not left beside a good one.
    const auto damaged = found_on_.find(lane);
    const Code code = file.code();
    const bool for_now =
        code == Code::kUnavailable || code == Code::kDeadlineExceeded || code == Code::kUnknown;
    if (for_now && damaged != found_on_.end() && damaged->second == server) break;
  }
  report_.problems.push_back(
      fmt::format("no server takes archive {} of {} ({})", lane, info_.path.text(),
                  problems.empty() ? "all of them hold a part of the object" : problems));
}

// Who hangs is given up, and asked for nothing more. Those that gave the stripe to read are the measure, and
// an upload's patience where it has no spare.
Task<Status> Repair::WriteChunks(std::shared_ptr<StripeBuffer> stripe, Duration reading) {
  const EngineOptions& options = engine_.options();
  const Duration patience =
      std::max(options.metadata_timeout, std::min(kLateFactor * reading, options.operation_limit));
  CallContext call = engine_.WriteCall();
  call.deadline = std::min(call.deadline, engine_.executor().Now() + patience);
  Gather<Status> writes(engine_.scope(), engine_.executor());
  for (size_t i = 0; i < copies_.size(); ++i) {
    ArchiveCopy& copy = copies_[i];
    const uint32_t chunk = ChunkOfLane(stripe->stripe(), copy.lane, manifest_.geometry.Total());
    if (!copy.status || stripe->ChunkSize(chunk) == 0) continue;
    Result<StripeBuffer::Piece> piece = stripe->PlaceChunk(chunk, *copy.archive);
    if (!piece) co_return piece.error();
    writes.Start(i, Write(call, copy.file, piece->archive_offset, std::move(piece->slice)));
  }
  while (writes.pending() > 0) {
    Gather<Status>::Event event = co_await writes.Next();
    if (event.value->has_value()) continue;
    Error error = event.value->error();
    if (error.code == Code::kDeadlineExceeded)
      error = Fail(Code::kUnavailable, "it is late to write stripe {}", stripe->stripe());
    copies_[event.tag].status = std::move(error);
  }
  co_return OkStatus();
}

bool Repair::AllFailed() const {
  return std::none_of(copies_.begin(), copies_.end(),
                      [](const ArchiveCopy& copy) { return copy.status.has_value(); });
}

// How much is read at a time, in bytes: whole pages of a chunk, as many as the memory budget has room for
// beside a stripe.
uint64_t Repair::PieceBytes(uint64_t stripe_bytes) const {
  const uint64_t chunk_size = manifest_.geometry.chunk_size_bytes;
  const uint64_t page = manifest_.page_size_bytes != 0 ? manifest_.page_size_bytes : chunk_size;
  uint64_t pages = (chunk_size + page - 1) / page;
  while (pages > 1 && stripe_bytes + PieceBytesToRead(manifest_, pages * page) > engine_.budget().limit())
    pages /= 2;
  return pages * page;
}

Task<Status> Repair::WriteStripe(uint64_t stripe, ObjectDigests& digests) {
  const Geometry& geometry = manifest_.geometry;
  StripeBuffer::Shape shape;
  shape.geometry = geometry;
  shape.data_bytes_max = geometry.StripeBytes(manifest_.size_bytes, stripe);
  const uint64_t piece_max = PieceBytes(shape.BufferBytes());
  Result<ByteBudget::Lease> lease =
      co_await engine_.budget().Acquire(shape.BufferBytes() + PieceBytesToRead(manifest_, piece_max));
  if (!lease) co_return lease.error();
  auto buffer = std::make_shared<StripeBuffer>(shape, stripe, lease->Split(shape.BufferBytes()));
  const std::shared_ptr<Buffer> piece = Buffer::Allocate(piece_max, lease->Split(piece_max));
  ByteBudget for_reading(std::move(*lease), engine_.executor());
  const TimePoint started = engine_.executor().Now();
  uint64_t offset = stripe * geometry.StripeSize();
  while (!buffer->full()) {
    const uint64_t left_of_chunk = geometry.chunk_size_bytes - offset % geometry.chunk_size_bytes;
    const uint64_t bytes = std::min({piece_max, left_of_chunk, shape.data_bytes_max - buffer->size_bytes()});
    const MutableByteSpan into = piece->span().first(bytes);
    Result<uint64_t> got = co_await reader_->ReadWithin(for_reading, offset, into);
    if (!got) co_return got.error();
    if (*got != bytes) co_return Fail(Code::kCorruption, "{} ends early", info_.path.text());
    buffer->Append(into, digests);
    options_.progress(bytes);
    offset += bytes;
  }
  buffer->Finish(digests);
  co_return co_await WriteChunks(std::move(buffer), engine_.executor().Now() - started);
}

Task<Status> Repair::WriteStripes(ObjectDigests& digests) {
  const uint64_t stripes = manifest_.geometry.StripeCount(manifest_.size_bytes);
  for (uint64_t stripe = 0; stripe < stripes; ++stripe) {
    Status written = co_await WriteStripe(stripe, digests);
    if (!written) co_return std::move(written);
    if (AllFailed()) co_return OkStatus();
  }
  co_return CheckDigests(digests);
}

Status Repair::CheckDigests(ObjectDigests& digests) const {
  for (const auto& [name, value] : digests.Finish()) {
    const auto stored = manifest_.checksums.find(name);
    if (stored == manifest_.checksums.end() || stored->second == value) continue;
    return Fail(Code::kCorruption, "what was read of {} has the {} {}, not {} as it was stored with",
                info_.path.text(), name, value, stored->second);
  }
  return OkStatus();
}

Manifest Repair::ManifestOf(const ArchiveCopy& copy) const {
  Manifest manifest = manifest_;
  manifest.kind = ManifestKind::kObject;
  manifest.lane = copy.lane;
  manifest.servers.resize(manifest.geometry.Total());
  for (const ArchiveCopy& made : copies_) {
    if (!made.status) continue;
    manifest.servers[made.lane] = engine_.server_id(made.server);
    std::erase(manifest.debts, made.lane);
  }
  return manifest;
}

// Ends the archives of the copies, in parallel. What they have not brought to their disks yet goes there now,
// which may take as long as all that was written before; who takes longer is given up.
Task<void> Repair::EndArchives(Duration writing) {
  std::vector<bool> waiting(copies_.size(), false);
  Gather<Status> ends(engine_.scope(), engine_.executor());
  for (size_t i = 0; i < copies_.size(); ++i) {
    ArchiveCopy& copy = copies_[i];
    if (!copy.status) continue;
    waiting[i] = true;
    ends.Start(i, EndArchive(engine_, std::move(copy.file), copy.archive, ManifestOf(copy)));
  }
  const EngineOptions& options = engine_.options();
  const Duration patience = std::max(options.metadata_timeout, std::max(options.operation_limit, writing));
  ends.StartTimer(0, engine_.executor().Now() + patience);
  bool late = false;
  // After a stall of our own, answers may be here that would seem to be late.
  while (ends.pending() > 0 && (!late || ends.ready())) {
    Gather<Status>::Event event = co_await ends.Next();
    if (!event.value) {
      late = true;
      continue;
    }
    waiting[event.tag] = false;
    copies_[event.tag].status = std::move(*event.value);
  }
  for (size_t i = 0; i < copies_.size(); ++i) {
    if (waiting[i]) copies_[i].status = Fail(Code::kUnavailable, "it is late to seal its archive");
  }
}

// Gives the copy its place.
Task<void> Repair::Place(ArchiveCopy& copy) {
  bool keep_draft = false;
  if (copy.status) {
    Placed placed =
        co_await PlaceCopy(engine_, info_.path, copy.server, copy.draft, info_.accepted, copy.replaces);
    copy.status = std::move(placed.status);
    keep_draft = placed.keep_draft;
  }
  if (copy.status) {
    ++report_.archives_made;
    report_.made.push_back(fmt::format("archive {} is on {} now (it was lost: {})", copy.lane,
                                       engine_.server_id(copy.server), wrong_[copy.lane]));
    const auto found = found_on_.find(copy.lane);
    if (found != found_on_.end()) co_await RemoveBadOf(copy.lane, found->second);
    co_return;
  }
  const Error& error = copy.status.error();
  const bool refused = error.code == Code::kNoSpace || error.code == Code::kPermissionDenied;
  if (refused) refusing_[copy.server] = error.message;
  // Another server has its turn first.
  if (!refused || last_round_) {
    report_.problems.push_back(fmt::format("archive {} of {} on {}: {}", copy.lane, info_.path.text(),
                                           engine_.server_id(copy.server), error.message));
  }
  if (keep_draft) co_return;
  engine_.scope().Spawn(
      DropDraft(engine_, copy.server, std::move(copy.file), StatePath(info_.path, FormatState(copy.draft))));
}

// Once the lane's copy stands: its bad archive on another server goes.
Task<void> Repair::RemoveBadOf(uint32_t lane, MemberIndex server) {
  const bool taken = std::any_of(copies_.begin(), copies_.end(),
                                 [&](const ArchiveCopy& copy) { return copy.server == server; });
  const std::optional<State> bad = listed_[server];
  if (taken || !bad) co_return;
  const Status removed = co_await RemoveBad(engine_, info_.path, server, info_.accepted, *bad);
  if (removed || removed.code() == Code::kConflict) co_return;
  report_.problems.push_back(
      fmt::format("archive {} of {} stays damaged on {}, though its copy is elsewhere now: {}", lane,
                  info_.path.text(), engine_.server_id(server), removed.error().message));
}

Task<Result<RepairReport>> Repair::Run() {
  co_await ListArchives();
  Status found = co_await FindBad();
  if (!found) co_return found.error();
  // Left by an earlier repair.
  const std::vector<std::pair<uint32_t, MemberIndex>> beside = reader_->DamagedBeside();
  for (const auto& [lane, server] : beside) {
    if (!wrong_.contains(lane)) co_await RemoveBadOf(lane, server);
  }
  for (const uint32_t lane : bad_) co_await OpenCopy(lane);
  if (copies_.empty()) co_return std::move(report_);
  Result<ObjectDigests> digests = ObjectDigests::Create({});
  Status written = digests ? OkStatus() : Status(digests.error());
  const TimePoint started = engine_.executor().Now();
  if (written) written = co_await WriteStripes(*digests);
  for (ArchiveCopy& copy : copies_) {
    if (!written) copy.status = written;
  }
  co_await EndArchives(engine_.executor().Now() - started);
  // One after the other: see PlaceCopy.
  for (ArchiveCopy& copy : copies_) co_await Place(copy);
  co_return std::move(report_);
}

// Reads everything once more, with eyes that have not seen what was bad.
Task<Status> VerifyAgain(Engine& engine, NameInfo info, RepairOptions options, RepairReport& report) {
  const std::string path = info.path.text();
  Result<NameInfo> now = co_await LookUpLive(engine, info.path);
  if (!now) co_return now.error();
  // Another version lives there by now.
  if (now->accepted.oid != info.accepted.oid) co_return OkStatus();
  Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::Open(engine, std::move(*now));
  if (!reader) co_return reader.error();
  Result<Manifest> manifest = co_await (*reader)->GetManifest();
  if (!manifest) co_return manifest.error();
  uint64_t bad = 0;
  Status verified = co_await (*reader)->Verify([&](const ChunkReport& chunk) {
    options.progress(chunk.bytes);
    const bool silent =
        chunk.health == ChunkHealth::kUnavailable && !IsGone(engine, *manifest, options, chunk);
    if (chunk.health != ChunkHealth::kGood && !silent) ++bad;
  });
  if (bad > 0 && report.problems.empty())
    report.problems.push_back(fmt::format("{} chunks of {} are still bad", bad, path));
  co_return std::move(verified);
}

}  // namespace

Task<Result<RepairReport>> RepairObject(Engine& engine, NameInfo info, RepairOptions options) {
  if (options.version && *options.version != info.accepted.version) co_return RepairReport{};
  std::map<MemberIndex, std::string> refusing;
  Result<RepairReport> report = RepairReport{};
  for (int round = 1; round <= kRoundsMax; ++round) {
    NameInfo of_reader = info;
    Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::Open(engine, std::move(of_reader));
    if (!reader) co_return reader.error();
    Result<Manifest> manifest = co_await (*reader)->GetManifest();
    if (!manifest) co_return manifest.error();
    NameInfo of_repair = info;
    const size_t refused = refusing.size();
    Repair repair(engine, std::move(of_repair), std::move(*reader), std::move(*manifest), options,
                  std::move(*report), refusing, round == kRoundsMax);
    report = co_await repair.Run();
    if (!report) co_return std::move(report);
    refusing = repair.refusing();
    if (refusing.size() == refused) break;
  }
  if (report->archives_made == 0) co_return std::move(report);
  const Status verified = co_await VerifyAgain(engine, std::move(info), std::move(options), *report);
  if (!verified) co_return verified.error();
  co_return std::move(report);
}

}  // namespace xec
