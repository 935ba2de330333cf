// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/object_writer.hh"

#include <algorithm>
#include <utility>

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "object/layout.hh"
#include "object/write/archive_sealer.hh"
#include "object/write/stripe_upload.hh"
#include "object/write/upload_room.hh"

namespace xec {
namespace {

// `note` ends with it.
Task<void> RemoveUpload(Engine& engine, ObjectPath path, State seal, StripeUpload::Remains remains,
                        UploadNote note) {
  (void)note;
  co_await CloseAll(engine, std::move(remains.files));
  if (!remains.servers.empty())
    co_await AbandonUpload(engine, std::move(path), std::move(seal), std::move(remains.servers));
}

using Checksums = ChecksumValues;

class Writer final : public ObjectWriter {
 public:
  // `base`: what an exclusive creation stands on, or what is replaced.
  Writer(Engine& engine, UploadPlan plan, std::optional<ParentNeed> parent, ObjectDigests digests, State seal,
         std::optional<Accepted> base)
      : engine_(engine),
        path_(plan.path),
        seal_(std::move(seal)),
        base_(std::move(base)),
        parent_(std::move(parent)),
        note_(engine.upload_notes(), path_, seal_.oid),
        upload_(engine, std::move(plan), std::move(digests)) {}
  ~Writer() override {
    if (!finished_) engine_.scope().Spawn(Abandon());
  }

  uint64_t size() const override { return upload_.size(); }
  Task<Status> Reserve() override { return upload_.Reserve(); }
  bool KeepPlace() override { return upload_.KeepPlace(); }
  Task<Status> Append(ByteSpan bytes) override;
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
  bool IsExclusive() const { return seal_.version.has_value(); }
  Task<Status> ChooseSeal(bool settle);
  Status CheckNotTooLate() const;
  Task<Status> OpenFills();
  Task<Status> SealAll(const Checksums& checksums);
  Task<Result<Checksums>> SealObject();
  Task<Result<Version>> Promote(std::vector<MemberIndex> other_homes);
  Task<Result<Version>> PromoteWithOtherHomes(const Checksums& checksums);
  size_t HomesHeld() const;
  std::vector<MemberIndex> UntriedHomes() const;
  size_t HomesPassedOver() const;

  Engine& engine_;
  const ObjectPath path_;
  State seal_;
  std::optional<Accepted> base_;
  Accepted shown_;  // under the name, by the last look
  const std::optional<ParentNeed> parent_;
  std::optional<TimePoint> seal_chosen_at_;
  UploadNote note_;
  StripeUpload upload_;
  bool finished_ = false;  // committed, outcome unknown, or given up
};

// Marks the writer as finished at once and hands over what the task needs, so that the writer may go
// meanwhile.
Task<void> Writer::Abandon() {
  finished_ = true;
  return RemoveUpload(engine_, path_, seal_, upload_.GiveUp(), std::move(note_));
}

// This is called just before the first archive is opened. An exclusive creation takes its version no earlier:
// a client may have sent the first bytes long ago, and a removal that came since may be about to be
// forgotten. `settle`: much is going to be sent, so it is worth a look whether something lives.
Task<Status> Writer::ChooseSeal(bool settle) {
  if (!IsExclusive() || seal_chosen_at_) co_return OkStatus();
  Version above = *seal_.version;
  if (settle && !base_) {
    Result<ExclusiveStart> start = co_await SettleExclusive(engine_, path_);
    if (!start) co_return start.error();
    base_ = start->base;
    above = start->version;
  }
  seal_chosen_at_ = engine_.executor().Now();
  const Result<Version> version = engine_.NextVersion(above);
  if (!version) co_return version.error();
  seal_.version = *version;
  upload_.SetPlace(SealPlace(engine_, path_, seal_));
  co_return OkStatus();
}

// From the first archive on no removal is forgotten. A process that slept between choosing and that moment
// may have a version below one that is being forgotten.
Status Writer::CheckNotTooLate() const {
  const bool late = seal_chosen_at_ && upload_.opened_at() &&
                    *upload_.opened_at() - *seal_chosen_at_ > engine_.options().operation_limit;
  if (!late) return OkStatus();
  return Fail(Code::kConflict, "it took too long until the first archive of {} was there; retry",
              path_.text());
}

Task<Status> Writer::Append(ByteSpan bytes) {
  const uint64_t stripe = upload_.geometry().StripeSize();
  const bool first_stripe = !upload_.sent() && upload_.size() <= stripe;
  Status status;
  if (IsExclusive() && first_stripe && bytes.size() > stripe - upload_.size()) {
    // The stripe is held back until it is known not to be the only one; its memory may be waited for.
    const size_t rest = stripe - upload_.size();
    status = co_await upload_.Append(bytes.first(rest));
    bytes = bytes.subspan(rest);
    if (status) status = co_await ChooseSeal(true);
  }
  if (status) status = co_await upload_.Append(bytes);
  if (status) status = CheckNotTooLate();
  if (!status) upload_.SetFailed(status.error());
  co_return std::move(status);
}

size_t Writer::HomesHeld() const {
  const Homes homes = engine_.Homes(path_);
  const std::vector<UploadedArchive>& archives = upload_.archives();
  return static_cast<size_t>(std::count_if(
      archives.begin(), archives.end(),
      [&](const UploadedArchive& archive) { return !archive.lost && Contains(homes, archive.server); }));
}

// Homes that nobody has asked for an archive.
std::vector<MemberIndex> Writer::UntriedHomes() const {
  std::vector<MemberIndex> homes = engine_.Homes(path_);
  for (const MemberIndex tried : upload_.Tried()) std::erase(homes, tried);
  return homes;
}

// Homes that would have lanes, and have no room for them.
size_t Writer::HomesPassedOver() const {
  const KnownSpace::Room room = engine_.Room();
  const std::vector<MemberIndex> untried = UntriedHomes();
  const auto full = static_cast<size_t>(
      std::count_if(untried.begin(), untried.end(), [&](MemberIndex home) { return room.IsFull(home); }));
  const size_t with_lanes = std::min(upload_.archives().size(), engine_.Homes(path_).size());
  return std::min(full, with_lanes - std::min(with_lanes, HomesHeld()));
}

// A version needs archives on a quorum of homes: adds those without members. Homes without room get such
// small ones, too: as many are to know of the version as if they had room.
Task<Status> Writer::OpenFills() {
  const size_t quorum = engine_.HomeQuorum(path_);
  const size_t passed_over = HomesPassedOver();
  if (HomesHeld() < quorum) co_await upload_.OpenFills(quorum - HomesHeld(), Late::kWaitedFor);
  if (const size_t left = std::min(passed_over, HomesPassedOver()); left > 0)
    co_await upload_.OpenFills(left, Late::kPassedOver);
  if (HomesHeld() >= quorum) co_return OkStatus();
  co_return Fail(Code::kNoQuorum, "cannot write {}: only {} of its homes take an archive, {} must ({})",
                 path_.text(), HomesHeld(), quorum, upload_.OpenProblems().message);
}

// Writes what is left, syncs and closes every archive, in parallel. Homes that fail over it are replaced by
// others.
Task<Status> Writer::SealAll(const Checksums& checksums) {
  const std::shared_ptr<StripeBuffer> held_back = upload_.TakeHeldBack();
  const size_t quorum = engine_.HomeQuorum(path_);
  while (true) {
    Status sealed = co_await upload_.SealAll([&](const UploadedArchive& archive) {
      Manifest manifest = upload_.MakeManifest(checksums);
      manifest.kind = archive.lane ? ManifestKind::kObject : ManifestKind::kWitness;
      manifest.lane = archive.lane;
      LastPiece last;
      last.holds_stripe = held_back != nullptr;
      if (archive.lane && held_back && archive.archive->member_count() == 0) {
        last.stripe = held_back;
        last.chunk = *archive.lane;
        upload_.NoteWritten(archive.server, held_back->ChunkSize(last.chunk));
      }
      return SealArchive(engine_, archive.file, archive.archive, std::move(last), std::move(manifest),
                         RunEnd::kAligned);
    });
    if (!sealed || HomesHeld() >= quorum) co_return std::move(sealed);
    // Every home is tried once, so this ends.
    const size_t before = upload_.archives().size();
    co_await upload_.OpenFills(quorum - HomesHeld(), Late::kWaitedFor);
    if (upload_.archives().size() > before) continue;
    co_return Fail(Code::kNoQuorum, "cannot write {}: only {} of its homes have an archive, {} must ({})",
                   path_.text(), HomesHeld(), quorum, upload_.Losses());
  }
}

// Brings every archive to its seal; answers the object's checksums.
Task<Result<Checksums>> Writer::SealObject() {
  const Status flushed = co_await upload_.Flush();
  if (!flushed) co_return flushed.error();
  Result<Checksums> checksums = upload_.Checksums();
  if (!checksums) co_return checksums.error();
  if (!upload_.sent()) {
    const Status chosen = co_await ChooseSeal(false);
    if (!chosen) co_return chosen.error();
    // There is at most one stripe, so only lanes with bytes are opened, and chunk and end of an archive are
    // one request.
    const Status opened =
        co_await upload_.OpenLanes(LanesWithMembers(StripeMap(upload_.geometry(), upload_.size())));
    if (!opened) co_return opened.error();
    XEC_FAILPOINT("put.chunk");
  }
  XEC_FAILPOINT("put.written");
  Status filled = co_await OpenFills();
  if (filled) filled = CheckNotTooLate();
  if (!filled) co_return filled.error();
  XEC_FAILPOINT("put.seal");
  const Status sealed = co_await SealAll(*checksums);
  XEC_FAILPOINT("put.sealed");
  if (!sealed) co_return sealed.error();
  co_return std::move(checksums);
}

Task<Result<Version>> Writer::Promote(std::vector<MemberIndex> other_homes) {
  const bool replaces = base_ && base_->Live();
  PutRequest request{.path = path_,
                     .seal = seal_,
                     .size = upload_.size(),
                     .archives = {},
                     .exclusive_base = base_,
                     .base_may_rise = !replaces,
                     .other_homes = std::move(other_homes),
                     .shown = &shown_,
                     .parent = parent_,
                     .given = {.settings = upload_.settings()}};
  size_t wanted = 0;
  for (const UploadedArchive& archive : upload_.archives()) {
    if (!archive.lost) request.archives.push_back(archive.server);
    // A fill that is lost has been replaced by another one.
    if (archive.lane || !archive.lost) ++wanted;
  }
  request.archives_min = wanted - std::min(wanted, upload_.losses_max());
  Result<Version> version = co_await CommitPut(engine_, std::move(request));
  co_return std::move(version);
}

// A home that dies between its seal and the look after sealing leaves too few. Then others get a witness, and
// the upload looks again, which is no more than to look later. Every home is tried once, so this ends. A late
// home is waited for as long as no others are well, since it may only be slow.
Task<Result<Version>> Writer::PromoteWithOtherHomes(const Checksums& checksums) {
  for (bool others = true, waited = false;;) {
    std::vector<MemberIndex> other_homes;
    if (others) other_homes = UntriedHomes();
    Result<Version> version = co_await Promote(other_homes);
    const bool too_few = !version && version.code() == Code::kNoQuorum && engine_.MembersInForce();
    if (!too_few) co_return std::move(version);
    const size_t before = upload_.archives().size();
    const Late late_homes = AnyIsWell(engine_, other_homes) ? Late::kPassedOver : Late::kWaitedFor;
    // Since a late home was passed over for their sake, they may have become no better: it is waited for
    // once.
    if (late_homes == Late::kWaitedFor && !std::exchange(waited, true)) continue;
    // Homes are tried one by one: one that hangs is given up for the next one, or for those that sealed and
    // were late.
    co_await upload_.OpenFills(1, late_homes);
    others = upload_.archives().size() > before;
    if (!others && late_homes == Late::kWaitedFor) co_return std::move(version);
    if (!others) continue;
    const Status sealed = co_await SealAll(checksums);
    if (!sealed) co_return sealed.error();
  }
}

Task<Result<Committed>> Writer::Commit() {
  Result<Checksums> sealed = co_await SealObject();
  if (!sealed) {
    upload_.SetFailed(sealed.error());
    co_return sealed.error();
  }
  Result<Version> version = co_await PromoteWithOtherHomes(*sealed);
  if (!version) {
    upload_.SetFailed(version.error());
    // Where the outcome is open, the seals decide it and must stay.
    if (version.code() == Code::kUnknown) finished_ = true;
    co_return version.error();
  }
  finished_ = true;
  upload_.LogDebts();
  Committed committed{
      .version = *version, .size = upload_.size(), .checksums = std::move(*sealed), .debts = upload_.Debts()};
  if (shown_.kind == Accepted::kObject) committed.replaced.emplace(ObjectGone{shown_.version, shown_.size});
  co_return std::move(committed);
}

Task<Result<ExclusiveStart>> StartOnlyIf(Engine& engine, ObjectPath path, OnlyIf only_if) {
  if (only_if.version) return SettleExclusive(engine, std::move(path), only_if.version);
  return StartExclusive(engine, std::move(path));
}

}  // namespace

Task<Result<std::unique_ptr<ObjectWriter>>> ObjectWriter::Start(Engine& engine, ObjectPath path,
                                                                WriteOptions options,
                                                                std::optional<ParentNeed> parent) {
  XEC_FAILPOINT("put.start");
  if (path.IsRoot()) co_return Fail(Code::kIsDirectory, "/ is a directory");
  const Status attributes_fit = CheckUserAttributes(options.attributes);
  if (!attributes_fit) co_return attributes_fit.error();
  Result<Geometry> geometry =
      FitGeometry(GeometryFor(engine.descriptor(), path.text()), options.size_hint.value_or(0));
  if (!geometry) co_return geometry.error();
  Result<ObjectDigests> digests = DigestsOfUpload(options);
  if (!digests) co_return digests.error();

  const Status fits = CheckStripeFits(*geometry, engine.budget().limit());
  if (!fits) co_return fits.error();
  if (!path.IsOfList()) {
    const Status room = co_await NeedRoom(engine, *geometry, options.archives_min);
    if (!room) co_return room.error();
  }

  State seal = SealedState(engine.NewObjectId());
  std::optional<Accepted> base;
  if (options.only_if.absent || options.only_if.version) {
    Result<ExclusiveStart> start = co_await StartOnlyIf(engine, path, options.only_if);
    if (!start) co_return start.error();
    seal = ExclusiveSealedState(start->version, seal.oid);
    base = start->base;
  } else {
    const Status free = co_await NeedNoDirectory(engine, path);
    if (!free) co_return free.error();
  }
  ArchivePlace place = SealPlace(engine, path, seal);
  UploadPlan plan{.path = std::move(path),
                  .object_id = seal.oid,
                  .geometry = *geometry,
                  .options = std::move(options),
                  .one_stripe_form = true,
                  .place = std::move(place)};
  std::unique_ptr<ObjectWriter> writer = std::make_unique<Writer>(
      engine, std::move(plan), std::move(parent), std::move(*digests), std::move(seal), std::move(base));
  co_return std::move(writer);
}

}  // namespace xec
