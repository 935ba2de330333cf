// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/writer.hh"

#include <algorithm>

#include "base/failpoint.hh"
#include "base/log.hh"
#include "base/text.hh"
#include "object/archive_sealer.hh"
#include "object/layout.hh"
#include "object/stripe_buffer.hh"
#include "runtime/gather.hh"
#include "xrdec/entry.hh"
#include "xrdec/publish.hh"

namespace xec {
namespace {

// One archive of the upload, on a server of its own.
struct Lane {
  MemberIndex server = 0;
  ArchiveFilePtr file;  // null: no server took it
  std::shared_ptr<ArchiveWriter> archive = std::make_shared<ArchiveWriter>();
  bool lost = false;
  bool closed = false;
};

// A member without data: its header.
Result<StripeBuffer::Piece> PlaceEmptyChunk(MemberName name, uint32_t page_size, ArchiveWriter& archive) {
  const std::shared_ptr<Buffer> buffer = Buffer::Allocate(LocalHeaderSizeMax(0));
  MemberHeader header;
  header.name = name;
  header.page_size_bytes = page_size;
  XEC_ASSIGN_OR_RETURN(const PlacedHeader placed, archive.LocalHeader(header, buffer->span()));
  Slice slice(buffer, buffer->size() - placed.size_bytes, placed.size_bytes);
  return StripeBuffer::Piece{std::move(slice), placed.archive_offset};
}

Task<void> GiveUp(Engine& engine, StagedName staged, std::vector<MemberIndex> servers,
                  std::vector<ArchiveFilePtr> files) {
  Gather<Status> closes(engine.scope(), engine.executor());
  for (size_t i = 0; i < files.size(); ++i) closes.Start(i, Close(engine.MetadataCall(), files[i]));
  while (closes.pending() > 0) co_await closes.Next();
  co_await RemoveStagedOn(engine, std::move(servers), std::move(staged));
}

class Writer final : public ObjectWriter {
 public:
  Writer(Engine& engine, ObjectPath path, WriteOptions options, const Geometry& geometry,
         ObjectDigests digests, int64_t above_s)
      : engine_(engine),
        path_(std::move(path)),
        options_(std::move(options)),
        geometry_(geometry),
        staged_{engine.NewObjectId(), {}},
        above_s_(above_s),
        losses_max_(LossesMax(geometry, options_.archives_min)),
        digests_(std::move(digests)),
        writes_(engine.scope(), engine.executor()) {}

  ~Writer() override {
    if (!finished_) engine_.scope().Spawn(Abandon());
  }

  uint64_t size() const override { return size_; }
  Task<Status> Reserve() override;
  Task<Status> Append(ByteSpan bytes) override;
  Task<Result<Committed>> Commit() override;
  Task<void> Abandon() override;

 private:
  uint32_t total() const { return geometry_.Total(); }
  StripeBuffer::Shape ShapeOfStripe(uint64_t stripe) const;
  Status CheckMayGrow(uint64_t bytes) const;
  Task<Status> NewStripe();
  Task<Status> SendStripe();
  Task<Status> OpenLanes();
  Task<void> TakeWrite();
  Task<Status> SealLanes(const std::map<std::string, std::string>& checksums);
  Task<Status> SetAllAttributes(XrdecAttributes attributes);
  Task<Status> CommitSealed(const Manifest& manifest, Committed& committed);
  Manifest MakeManifest(std::map<std::string, std::string> checksums) const;
  std::vector<MemberIndex> Good() const;
  void Lose(Lane& lane, const Error& error);
  Status CheckRedundancy() const;

  Engine& engine_;
  const ObjectPath path_;
  const WriteOptions options_;
  const Geometry geometry_;
  const StagedName staged_;
  const int64_t above_s_;    // the version must be newer
  const size_t losses_max_;  // lanes that may be missing at the end
  ObjectDigests digests_;

  uint64_t size_ = 0;
  uint64_t next_stripe_ = 0;
  std::shared_ptr<StripeBuffer> current_;
  StripeReservation reserved_;
  std::vector<Lane> lanes_;          // empty until the first stripe is sent
  std::vector<MemberIndex> tried_;   // servers on which a staged archive may lie
  std::vector<std::string> losses_;  // one clause for each lost archive
  std::optional<Code> loss_code_;    // of all losses, if they agree
  std::optional<Error> failed_;
  bool finished_ = false;  // committed, outcome unknown, or given up

  Gather<Status> writes_;                            // tag: stripe * lanes + lane
  std::map<uint64_t, size_t> stripes_on_their_way_;  // stripe -> writes not answered yet
};

Status Writer::CheckMayGrow(uint64_t bytes) const {
  if (failed_) return *failed_;
  if (finished_) return Fail(Code::kInvalidArgument, "the upload of {} has ended", path_.text());
  if (options_.size_hint && bytes > *options_.size_hint - size_) {
    return Fail(Code::kInvalidArgument, "more bytes were sent for {} than the {} that were announced",
                path_.text(), *options_.size_hint);
  }
  const uint64_t size_max = kMembersMax * geometry_.StripeSize();
  if (bytes > size_max - size_) {
    return Fail(
        Code::kInvalidArgument,
        "{} exceeds {}, the most that layout xrdec can hold with chunks of {}: configure larger chunks",
        path_.text(), FormatSize(size_max), FormatSize(geometry_.chunk_size_bytes));
  }
  return OkStatus();
}

StripeBuffer::Shape Writer::ShapeOfStripe(uint64_t stripe) const {
  StripeBuffer::Shape shape;
  shape.geometry = geometry_;
  shape.data_bytes_max = geometry_.StripeSize();
  if (options_.size_hint) shape.data_bytes_max = geometry_.StripeBytes(*options_.size_hint, stripe);
  return shape;
}

Task<Status> Writer::Reserve() {
  if (size_ > 0 || options_.size_hint == 0) co_return OkStatus();
  Result<ByteBudget::Lease> lease =
      co_await engine_.budget().Acquire(ShapeOfStripe(0).BufferBytes(), ByteBudget::Use::kUpload);
  if (!lease) co_return lease.error();
  reserved_.Put(std::move(*lease), engine_.executor());
  co_return OkStatus();
}

Task<Status> Writer::Append(ByteSpan bytes) {
  Status ready = CheckMayGrow(bytes.size());
  while (ready && !bytes.empty()) {
    if (!current_) ready = co_await NewStripe();
    if (!ready) break;
    const size_t taken = current_->Append(bytes, digests_);
    size_ += taken;
    bytes = bytes.subspan(taken);
    if (current_->full()) ready = co_await SendStripe();
  }
  if (!ready && !failed_) failed_ = ready.error();
  co_return std::move(ready);
}

// Waits for a place in the pipeline, then for memory, and starts the next stripe.
Task<Status> Writer::NewStripe() {
  const size_t in_flight_max = std::max<size_t>(engine_.options().stripes_in_flight, 1);
  while (stripes_on_their_way_.size() >= in_flight_max) {
    co_await TakeWrite();
    if (failed_) co_return *failed_;
  }
  const StripeBuffer::Shape shape = ShapeOfStripe(next_stripe_);
  Result<ByteBudget::Lease> lease = reserved_.Take();
  if (lease->bytes() == 0)
    lease = co_await engine_.budget().Acquire(shape.BufferBytes(), ByteBudget::Use::kUpload);
  if (!lease) co_return lease.error();
  current_ = std::make_shared<StripeBuffer>(shape, next_stripe_, std::move(*lease));
  co_return OkStatus();
}

// Codes the current stripe and starts its writes; opens all lanes before the first.
Task<Status> Writer::SendStripe() {
  current_->Finish(digests_);
  if (lanes_.empty()) {
    Status opened = co_await OpenLanes();
    if (!opened) co_return std::move(opened);
  }
  const uint64_t stripe = current_->stripe();
  for (uint32_t i = 0; i < total(); ++i) {
    if (lanes_[i].lost) continue;
    const uint32_t chunk = ChunkOfLane(stripe, i, total());
    const MemberName name{static_cast<uint32_t>(stripe), chunk};
    Result<StripeBuffer::Piece> piece =
        current_->ChunkSize(chunk) > 0
            ? current_->PlaceChunk(chunk, *lanes_[i].archive)
            : PlaceEmptyChunk(name, static_cast<uint32_t>(geometry_.PageSize()), *lanes_[i].archive);
    if (!piece) co_return piece.error();
    ++stripes_on_their_way_[stripe];
    writes_.Start(stripe * total() + i,
                  Write(engine_.WriteCall(), lanes_[i].file, piece->archive_offset, piece->slice));
  }
  current_.reset();
  ++next_stripe_;
  co_return OkStatus();
}

Task<void> Writer::TakeWrite() {
  const Gather<Status>::Event event = co_await writes_.Next();
  XEC_FAILPOINT("xrdec.chunk_written");
  const auto pending = stripes_on_their_way_.find(event.tag / total());
  if (--pending->second == 0) stripes_on_their_way_.erase(pending);
  if (!event.value->has_value()) Lose(lanes_[event.tag % total()], event.value->error());
  const Status enough = CheckRedundancy();
  if (!enough && !failed_) failed_ = enough.error();
}

void Writer::Lose(Lane& lane, const Error& error) {
  if (lane.lost) return;
  lane.lost = true;
  const bool first = losses_.empty();
  losses_.push_back(fmt::format("{}: {}", engine_.server_id(lane.server), error.message));
  if (first) {
    loss_code_ = error.code;
  } else if (loss_code_ != error.code) {
    loss_code_.reset();
  }
  Log(LogLevel::kWarning, "xrdec", "{}: lost an archive on {}", path_.text(), losses_.back());
}

Status Writer::CheckRedundancy() const {
  const auto lost = static_cast<size_t>(
      std::count_if(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.lost; }));
  if (lost <= losses_max_) return OkStatus();
  std::string text;
  for (const std::string& loss : losses_) text += (text.empty() ? "" : "; ") + loss;
  const bool told = loss_code_ == Code::kNoSpace || loss_code_ == Code::kPermissionDenied ||
                    loss_code_ == Code::kUnsupported;
  return Fail(told ? *loss_code_ : Code::kUnavailable,
              "cannot write {}: {} of {} archives failed and at most {} may be missing ({})", path_.text(),
              lost, total(), losses_max_, text.empty() ? "the store has no more servers" : text);
}

// Creates the staged archives on distinct servers, on others instead of those that fail.
Task<Status> Writer::OpenLanes() {
  XEC_FAILPOINT("xrdec.open");
  lanes_.resize(total());
  const auto usable = std::make_unique<bool[]>(engine_.server_count());
  std::fill_n(usable.get(), engine_.server_count(), true);
  size_t open = 0;
  while (open < total()) {
    const std::vector<MemberIndex> servers =
        PlaceLanes(engine_.descriptor(), {}, staged_.oid, total() - open, geometry_.parity_chunks,
                   std::span<const bool>(usable.get(), engine_.server_count()));
    if (servers.empty()) break;
    Gather<Result<ArchiveFilePtr>> gather(engine_.scope(), engine_.executor());
    for (const MemberIndex server : servers) {
      usable[server] = false;
      tried_.push_back(server);
      gather.Start(server, xec::Open(engine_.MetadataCall(), engine_.server(server), staged_.Path(),
                                     OpenMode::kCreate));
    }
    while (gather.pending() > 0) {
      Gather<Result<ArchiveFilePtr>>::Event event = co_await gather.Next();
      XEC_FAILPOINT("xrdec.opened_one");
      const auto server = static_cast<MemberIndex>(event.tag);
      Lane here;
      here.server = server;
      if (event.value->has_value()) {
        here.file = event.value->value();
        lanes_[open++] = std::move(here);
      } else {
        Lose(here, event.value->error());
      }
    }
  }
  for (size_t i = open; i < lanes_.size(); ++i) lanes_[i].lost = lanes_[i].closed = true;
  co_return CheckRedundancy();
}

std::vector<MemberIndex> Writer::Good() const {
  std::vector<MemberIndex> servers;
  for (const Lane& lane : lanes_) {
    if (!lane.lost) servers.push_back(lane.server);
  }
  return servers;
}

Manifest Writer::MakeManifest(std::map<std::string, std::string> checksums) const {
  Manifest manifest;
  manifest.object_id = staged_.oid;
  manifest.size_bytes = size_;
  manifest.geometry = geometry_;
  manifest.page_size_bytes = static_cast<uint32_t>(geometry_.PageSize());
  manifest.path = path_.text();
  manifest.mtime_ns = engine_.executor().WallNow() * 1'000'000;
  manifest.mode = options_.mode;
  manifest.checksums = std::move(checksums);
  manifest.attributes = options_.attributes;
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    manifest.servers.push_back(lanes_[i].lost ? "" : engine_.server_id(lanes_[i].server));
    if (lanes_[i].lost) manifest.debts.push_back(i);
  }
  return manifest;
}

Task<Status> SealEmpty(Engine& engine, ArchiveFilePtr file) {
  Status synced;
  if (engine.SyncBeforeCommit()) synced = co_await Sync(engine.WriteCall(), file);
  Status closed = co_await Close(engine.WriteCall(), file);
  if (!synced) co_return std::move(synced);
  co_return std::move(closed);
}

// Ends every archive, in parallel. Those of the empty object stay empty files, as XrdEc has them.
Task<Status> Writer::SealLanes(const std::map<std::string, std::string>& checksums) {
  XEC_FAILPOINT("xrdec.seal");
  const Manifest common = MakeManifest(checksums);
  Gather<Status> seals(engine_.scope(), engine_.executor());
  for (uint32_t i = 0; i < total(); ++i) {
    Lane& lane = lanes_[i];
    if (lane.lost) continue;
    lane.closed = true;
    if (size_ == 0) {
      seals.Start(i, SealEmpty(engine_, lane.file));
      continue;
    }
    Manifest manifest = common;
    manifest.lane = i;
    LastPiece nothing;
    seals.Start(i, SealArchive(engine_, lane.file, lane.archive, std::move(nothing), std::move(manifest)));
  }
  while (seals.pending() > 0) {
    const Gather<Status>::Event event = co_await seals.Next();
    XEC_FAILPOINT("xrdec.sealed_one");
    if (!event.value->has_value()) Lose(lanes_[event.tag], event.value->error());
  }
  co_return CheckRedundancy();
}

Task<Status> Writer::SetAllAttributes(XrdecAttributes attributes) {
  Gather<Status> sets(engine_.scope(), engine_.executor());
  for (uint32_t i = 0; i < total(); ++i) {
    if (lanes_[i].lost) continue;
    sets.Start(i, SetAttributes(engine_.MetadataCall(), engine_.server(lanes_[i].server), staged_.Path(),
                                attributes.Format()));
  }
  while (sets.pending() > 0) {
    const Gather<Status>::Event event = co_await sets.Next();
    XEC_FAILPOINT("xrdec.attributes_set");
    if (!event.value->has_value()) Lose(lanes_[event.tag], event.value->error());
  }
  co_return CheckRedundancy();
}

// Steps 2 to 4; see writer.hh.
Task<Status> Writer::CommitSealed(const Manifest& manifest, Committed& committed) {
  // The cleaner leaves archives alone that were written to within the upload grace time, as these just were.
  const TimePoint sealed = engine_.executor().Now();
  Result<ExclusiveStart> start = co_await StartEntry(engine_, path_, above_s_);
  if (!start) co_return start.error();
  XrdecAttributes attributes;
  attributes.file_size = size_;
  attributes.version = static_cast<uint64_t>(XrdecVersionOf(start->version));
  const auto adler32 = manifest.checksums.find("adler32");
  if (adler32 != manifest.checksums.end()) {
    if (const auto value = ParseHex(adler32->second)) attributes.adler32 = static_cast<uint32_t>(*value);
  }
  Status set = co_await SetAllAttributes(attributes);
  if (!set) co_return std::move(set);
  if (engine_.executor().Now() - sealed > engine_.options().operation_limit)
    co_return Fail(Code::kConflict, "the commit of {} took too long; retry", path_.text());
  committed.version = start->version;
  Status entered = co_await CommitEntry(engine_, path_, std::move(*start), manifest);
  if (!entered) co_return std::move(entered);
  co_await PublishAll(engine_, Good(), staged_, path_, XrdecVersionOf(committed.version));
  co_return OkStatus();
}

Task<Result<Committed>> Writer::Commit() {
  Status status = CheckMayGrow(0);
  if (status && options_.size_hint && *options_.size_hint != size_) {
    status = Fail(Code::kInvalidArgument, "{} ended after {} bytes, {} were announced", path_.text(), size_,
                  *options_.size_hint);
  }
  if (status && current_) status = co_await SendStripe();
  if (status && lanes_.empty()) status = co_await OpenLanes();
  while (status && writes_.pending() > 0) {
    co_await TakeWrite();
    if (failed_) status = *failed_;
  }
  Committed committed;
  committed.size = size_;
  if (status) {
    committed.checksums = digests_.Finish();
    status = co_await SealLanes(committed.checksums);
  }
  if (status) {
    const Manifest manifest = MakeManifest(committed.checksums);
    status = co_await CommitSealed(manifest, committed);
  }
  if (!status) {
    failed_ = status.error();
    // Where the outcome is open, the register decides it and the archives must stay.
    if (status.code() == Code::kUnknown) finished_ = true;
    co_return status.error();
  }
  finished_ = true;
  co_return std::move(committed);
}

// Marks the writer as finished at once and hands over what the task needs, so that the writer may go
// meanwhile.
Task<void> Writer::Abandon() {
  finished_ = true;
  current_.reset();
  reserved_.Take();
  if (!failed_) failed_ = Fail(Code::kCancelled, "the upload of {} was given up", path_.text());
  std::vector<ArchiveFilePtr> files;
  for (Lane& lane : lanes_) {
    if (!lane.closed && lane.file) files.push_back(std::move(lane.file));
    lane.closed = true;
  }
  return GiveUp(engine_, staged_, tried_, std::move(files));
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
  if (geometry.StripeCount(options.size_hint.value_or(0)) > kMembersMax) {
    co_return Fail(Code::kInvalidArgument,
                   "{} of {} would need more than {} stripes, the most that layout xrdec can hold: configure "
                   "larger chunks",
                   path.text(), FormatSize(*options.size_hint), kMembersMax);
  }
  Result<ObjectDigests> digests = ObjectDigests::Create(options.digests);
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
  std::unique_ptr<ObjectWriter> writer = std::make_unique<Writer>(engine, std::move(path), std::move(options),
                                                                  geometry, std::move(*digests), above_s);
  co_return std::move(writer);
}

}  // namespace xec
