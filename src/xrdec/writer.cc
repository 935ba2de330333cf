// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/writer.hh"

#include "base/failpoint.hh"
#include "base/text.hh"
#include "object/write/archive_sealer.hh"
#include "object/write/stripe_upload.hh"
#include "object/write/upload_room.hh"
#include "xrdec/entry.hh"
#include "xrdec/publish.hh"

namespace xec {
namespace {

Task<void> RemoveUpload(Engine& engine, StagedName staged, StripeUpload::Remains remains) {
  co_await CloseAll(engine, std::move(remains.files));
  co_await RemoveStagedOn(engine, std::move(remains.servers), std::move(staged));
}

Task<Status> SealEmpty(Engine& engine, ArchiveFilePtr file) {
  Status synced;
  if (engine.SyncBeforeCommit()) synced = co_await Sync(engine.WriteCall(), std::move(file));
  co_return std::move(synced);
}

class Writer final : public ObjectWriter {
 public:
  Writer(Engine& engine, UploadPlan plan, ObjectDigests digests, StagedName staged, int64_t above_s)
      : engine_(engine),
        path_(plan.path),
        staged_(std::move(staged)),
        above_s_(above_s),
        upload_(engine, std::move(plan), std::move(digests)) {}
  ~Writer() override {
    if (!finished_) engine_.scope().Spawn(Abandon());
  }

  uint64_t size() const override { return upload_.size(); }
  Task<Status> Reserve() override { return upload_.Reserve(); }
  bool KeepPlace() override { return upload_.KeepPlace(); }
  Task<Status> Append(ByteSpan bytes) override { return upload_.Append(bytes); }
  Status SetUserAttributes(std::map<std::string, std::string> attributes) override {
    return upload_.SetUserAttributes(std::move(attributes));
  }
  void SetSettings(Settings settings) override { upload_.SetSettings(settings); }
  bool AllInMemory() const override { return upload_.AllInMemory(); }
  Task<Status> EndStream() override { return upload_.EndStream(); }
  Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into) override {
    return upload_.ReadBack(offset, into);
  }
  Task<Result<Committed>> Commit() override;
  Task<void> Abandon() override;

 private:
  Task<Status> WriteAll();
  Task<Status> SealLanes(const std::map<std::string, std::string>& checksums);
  Task<Status> SetAllAttributes(XrdecAttributes attributes);
  Task<Result<Version>> CommitSealed(const Manifest& manifest);
  std::vector<MemberIndex> Good() const;

  Engine& engine_;
  const ObjectPath path_;
  const StagedName staged_;
  const int64_t above_s_;  // the version must be newer
  StripeUpload upload_;
  bool finished_ = false;  // committed, outcome unknown, or given up
};

std::vector<MemberIndex> Writer::Good() const {
  std::vector<MemberIndex> servers;
  for (const UploadedArchive& archive : upload_.archives()) {
    if (!archive.lost) servers.push_back(archive.server);
  }
  return servers;
}

// Ends every archive. Those of the empty object stay empty files, as XrdEc has them.
Task<Status> Writer::SealLanes(const std::map<std::string, std::string>& checksums) {
  XEC_FAILPOINT("xrdec.seal");
  co_return co_await upload_.SealAll([&](const UploadedArchive& archive) {
    if (upload_.size() == 0) return SealEmpty(engine_, archive.file);
    Manifest manifest = upload_.MakeManifest(checksums);
    manifest.lane = archive.lane;
    return SealArchive(engine_, archive.file, archive.archive, LastPiece(), std::move(manifest),
                       RunEnd::kAsItIs);
  });
}

Task<Status> Writer::SetAllAttributes(XrdecAttributes attributes) {
  const std::vector<UploadedArchive>& archives = upload_.archives();
  Gather<Status> sets(engine_.scope(), engine_.executor());
  for (size_t i = 0; i < archives.size(); ++i) {
    if (archives[i].lost) continue;
    sets.Start(i, SetAttributes(engine_.MetadataCall(), engine_.server(archives[i].server), staged_.Path(),
                                attributes.Format()));
  }
  while (sets.pending() > 0) {
    const Gather<Status>::Event event = co_await sets.Next();
    XEC_FAILPOINT("xrdec.attributes_set");
    if (!event.value->has_value()) upload_.Lose(event.tag, event.value->error());
  }
  co_return upload_.CheckRedundancy();
}

// Steps 2 to 4; see writer.hh.
Task<Result<Version>> Writer::CommitSealed(const Manifest& manifest) {
  // The cleaner leaves archives alone that were written to within the upload grace time, as these just were.
  const TimePoint sealed = engine_.executor().Now();
  Result<ExclusiveStart> start = co_await StartEntry(engine_, path_, above_s_);
  if (!start) co_return start.error();
  XrdecAttributes attributes;
  attributes.file_size = upload_.size();
  attributes.version = static_cast<uint64_t>(XrdecVersionOf(start->version));
  const auto adler32 = manifest.checksums.find("adler32");
  if (adler32 != manifest.checksums.end()) {
    if (const auto value = ParseHex(adler32->second)) attributes.adler32 = static_cast<uint32_t>(*value);
  }
  const Status set = co_await SetAllAttributes(std::move(attributes));
  if (!set) co_return set.error();
  if (engine_.executor().Now() - sealed > engine_.options().operation_limit)
    co_return Fail(Code::kConflict, "the commit of {} took too long; retry", path_.text());
  const Version version = start->version;
  const Status entered =
      co_await CommitEntry(engine_, path_, std::move(*start), manifest, upload_.settings());
  if (!entered) co_return entered.error();
  co_await PublishAll(engine_, Good(), staged_, path_, XrdecVersionOf(version));
  co_return version;
}

// Step 1, but for the ends of the archives.
Task<Status> Writer::WriteAll() {
  Status flushed = co_await upload_.Flush();
  if (!flushed || upload_.sent()) co_return std::move(flushed);
  co_return co_await upload_.OpenAllLanes();
}

Task<Result<Committed>> Writer::Commit() {
  Committed committed;
  Status status = co_await WriteAll();
  committed.size = upload_.size();
  if (status) {
    Result<ChecksumValues> checksums = upload_.Checksums();
    if (checksums) committed.checksums = std::move(*checksums);
    if (!checksums) status = checksums.error();
  }
  if (status) status = co_await SealLanes(committed.checksums);
  if (status) {
    const Manifest manifest = upload_.MakeManifest(committed.checksums);
    const Result<Version> version = co_await CommitSealed(manifest);
    if (version) committed.version = *version;
    if (!version) status = version.error();
  }
  if (!status) {
    upload_.SetFailed(status.error());
    // Where the outcome is open, the register decides it and the archives must stay.
    if (status.code() == Code::kUnknown) finished_ = true;
    co_return status.error();
  }
  finished_ = true;
  committed.debts = upload_.Debts();
  upload_.LogDebts();
  co_return std::move(committed);
}

// Marks the writer as finished at once and hands over what the task needs, so that the writer may go
// meanwhile.
Task<void> Writer::Abandon() {
  finished_ = true;
  return RemoveUpload(engine_, staged_, upload_.GiveUp());
}

}  // namespace

Task<Result<std::unique_ptr<ObjectWriter>>> StartXrdecWriter(Engine& engine, ObjectPath path,
                                                             WriteOptions options) {
  const Status plain = CheckPlainName(path);
  if (!plain) co_return plain.error();
  const Status attributes_fit = CheckUserAttributes(options.attributes);
  if (!attributes_fit) co_return attributes_fit.error();
  const Geometry geometry = GeometryFor(engine.descriptor(), path.text());
  const Status fits = CheckStripeFits(geometry, engine.budget().limit());
  if (!fits) co_return fits.error();
  const Status room = co_await NeedRoom(engine, geometry, options.archives_min);
  if (!room) co_return room.error();
  if (geometry.StripeCount(options.size_hint.value_or(0)) > kMembersMax) {
    co_return Fail(Code::kInvalidArgument,
                   "{} of {} would need more than {} stripes, the most that layout xrdec can hold: configure "
                   "larger chunks",
                   path.text(), FormatSize(*options.size_hint), kMembersMax);
  }
  Result<ObjectDigests> digests = DigestsOfUpload(options);
  if (!digests) co_return digests.error();
  Result<XrdecName> name = co_await LookUpXrdec(engine, path, XrdecWidth::kArchives);
  if (!name) co_return name.error();
  switch (name->kind) {
    case XrdecName::kNothing: break;
    case XrdecName::kDirectory: co_return Fail(Code::kIsDirectory, "{} is a directory", path.text());
    case XrdecName::kObject:
      co_return Fail(Code::kAlreadyExists,
                     "{} exists, and objects of layout xrdec are written once: remove it first", path.text());
    case XrdecName::kUnfinished:
      co_return Fail(
          Code::kConflict,
          "files without XrdEc's attributes lie under the name {}: another client is writing it, or "
          "was interrupted and they must be removed on the data servers",
          path.text());
  }
  const int64_t above_s = HighestVersion(name->found);
  StagedName staged{engine.NewObjectId(), {}};
  ArchivePlace place{.path = staged.Path(), .folders = {}, .homes = {}, .salt = staged.oid};
  UploadPlan plan{.path = std::move(path),
                  .object_id = staged.oid,
                  .geometry = geometry,
                  .options = std::move(options),
                  .one_stripe_form = false,
                  .place = std::move(place)};
  std::unique_ptr<ObjectWriter> writer =
      std::make_unique<Writer>(engine, std::move(plan), std::move(*digests), std::move(staged), above_s);
  co_return std::move(writer);
}

}  // namespace xec
