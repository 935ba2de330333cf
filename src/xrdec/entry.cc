// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/entry.hh"

#include "base/failpoint.hh"
#include "commit/engine/access.hh"
#include "commit/engine/pause.hh"
#include "commit/engine/server_gather.hh"
#include "commit/steps/manifest_text.hh"
#include "object/read/object_reader.hh"

namespace xec {
namespace {

// A second, and room for clocks that differ a little.
constexpr int kStartTriesMax = 4;

Task<Status> SealOn(Engine& engine, MemberIndex home, ObjectPath path, State seal, std::string content) {
  Status named = co_await KeepLongName(engine, home, path);
  if (!named) co_return std::move(named);
  co_return co_await CreateFile(engine.MetadataCall(), engine.server(home),
                                StatePath(path, FormatState(seal)), std::move(content),
                                engine.SyncBeforeCommit());
}

// The homes that have the seal now.
Task<std::vector<MemberIndex>> SealHomes(Engine& engine, ObjectPath path, State seal, std::string content) {
  const Homes homes = engine.Homes(path);
  const size_t quorum = homes.quorum();
  ServerGather<Status> gather(engine, RequestKind::kSync);
  for (const MemberIndex home : homes) gather.Start(home, SealOn(engine, home, path, seal, content));
  std::vector<MemberIndex> sealed;
  while (gather.pending() > 0 && (sealed.size() < quorum || gather.timely() > 0)) {
    auto event = co_await gather.Next();
    if (!event.value) continue;
    XEC_FAILPOINT("xrdec.entry_sealed");
    if (*event.value) sealed.push_back(event.member);
  }
  co_return std::move(sealed);
}

}  // namespace

int64_t XrdecVersionOf(const Version& version) { return version.WallMillis() / 1000; }

Task<Result<ExclusiveStart>> StartEntry(Engine& engine, ObjectPath path, int64_t above_s) {
  for (int tries = 0; tries < kStartTriesMax; ++tries) {
    Result<ExclusiveStart> start = co_await SettleExclusive(engine, path.Registered());
    if (!start) co_return InUserWords(start.error());
    const int64_t floor_s = std::max(above_s, RemovedUpTo(*start->base));
    const int64_t now_ms = start->version.WallMillis();
    if (now_ms / 1000 > floor_s) co_return std::move(start);
    // XrdEc's version has whole seconds: of two archives of one second nobody could tell the newer one.
    const int64_t wait_ms = (floor_s + 1) * 1000 - now_ms;
    if (wait_ms > 1500) break;
    co_await Pause(engine, std::chrono::milliseconds(wait_ms));
  }
  co_return Fail(
      Code::kConflict,
      "an archive or removal of {} is newer than the clock of this machine: clocks differ, or retry",
      path.text());
}

Task<Status> CommitEntry(Engine& engine, ObjectPath path, ExclusiveStart start, Manifest manifest,
                         Settings settings) {
  const ObjectPath entry = path.Registered();
  const State seal = ExclusiveSealedState(start.version, manifest.object_id);
  // Where archives lie is not the entry's business; nothing of it would follow a rename.
  manifest.servers.clear();
  manifest.debts.clear();
  manifest.lane.reset();
  manifest.from.reset();
  Result<std::string> text = manifest.Serialize();
  if (!text) co_return text.error();
  Result<std::string> content = WitnessContent(*text);
  if (!content) co_return content.error();
  XEC_FAILPOINT("xrdec.entry");
  std::vector<MemberIndex> sealed = co_await SealHomes(engine, entry, seal, std::move(*content));
  const size_t quorum = engine.HomeQuorum(entry);
  Status done;
  if (sealed.size() < quorum) {
    done = Fail(Code::kNoQuorum, "only {} homes of {} take changes now, {} must; retry", sealed.size(),
                path.text(), quorum);
  } else {
    PutRequest request{.path = entry,
                       .seal = seal,
                       .size = manifest.size_bytes,
                       .archives = std::move(sealed),
                       .exclusive_base = start.base,
                       .given = {.settings = settings}};
    Result<Version> committed = co_await CommitPut(engine, std::move(request));
    if (!committed) done = InUserWords(committed.error());
  }
  XEC_FAILPOINT("xrdec.entered");
  if (!done && done.code() != Code::kUnknown) {
    co_await AbandonUpload(engine, entry, seal, engine.Homes(entry));
  }
  co_return std::move(done);
}

Task<Result<XrdecName>> TakeOver(Engine& engine, XrdecName name, XrdecWidth width) {
  const ObjectPath path = name.path;
  Manifest manifest;
  manifest.geometry = GeometryFor(engine.descriptor(), path.text());
  Result<NameInfo> info = ForReading(engine, name);
  if (info && name.size > 0) {
    // What cannot be read can still be removed.
    Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::OpenXrdec(engine, std::move(*info));
    if (!reader) co_return reader.error();
    Result<Manifest> found = co_await (*reader)->GetManifest();
    if (found) manifest = std::move(*found);
  }
  if (manifest.object_id.empty()) manifest.object_id = engine.NewObjectId();
  manifest.size_bytes = name.size;
  manifest.path = path.text();
  manifest.mtime_ns = name.version.WallMillis() * 1'000'000;
  Result<ExclusiveStart> start = co_await StartEntry(engine, path, XrdecVersionOf(name.version));
  // Somebody else may have taken it over, and renamed or removed it, since it was looked up.
  if (start && !(*start->base == name.registered.accepted))
    co_return Fail(Code::kConflict, "{} was changed by somebody else meanwhile; retry", path.text());
  Status committed = start ? OkStatus() : Status(start.error());
  if (start)
    committed = co_await CommitEntry(engine, path, std::move(*start), std::move(manifest), Settings());
  // Somebody else's entry for it is as good.
  if (!committed && committed.code() != Code::kAlreadyExists) co_return committed.error();
  co_return co_await LookUpXrdec(engine, path, width);
}

}  // namespace xec
