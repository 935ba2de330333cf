// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/object_writer.hh"

#include <algorithm>
#include <numeric>

#include "base/failpoint.hh"
#include "base/log.hh"
#include "base/mutant.hh"
#include "object/archive_opener.hh"
#include "object/archive_sealer.hh"
#include "object/layout.hh"
#include "object/stripe_buffer.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// Bytes of a manifest with these options, at most; only decides whether a small archive is one request.
size_t ManifestSizeGuess(const ObjectPath& path, const WriteOptions& options, size_t lanes) {
  size_t bytes = 1024 + 3 * path.text().size() + lanes * (kServerIdSizeMax / 4);
  for (const auto& [name, value] : options.attributes) bytes += 3 * (name.size() + value.size()) + 16;
  return std::min(bytes, kManifestSizeMax);
}

Task<void> GiveUp(Engine& engine, ObjectPath path, State seal, std::vector<MemberIndex> servers,
                  std::vector<ArchiveFilePtr> files) {
  Gather<Status> closes(engine.scope(), engine.executor());
  for (size_t i = 0; i < files.size(); ++i) closes.Start(i, Close(engine.MetadataCall(), files[i]));
  while (closes.pending() > 0) co_await closes.Next();
  if (!servers.empty()) co_await AbandonUpload(engine, std::move(path), std::move(seal), std::move(servers));
}

// One archive of the upload.
struct Upload {
  std::optional<uint32_t> lane;  // absent: a fill
  MemberIndex server = 0;
  ArchiveFilePtr file;
  std::shared_ptr<ArchiveWriter> archive = std::make_shared<ArchiveWriter>();
  bool lost = false;
  bool closed = false;
};

class Writer final : public ObjectWriter {
 public:
  Writer(Engine& engine, ObjectPath path, WriteOptions options, Geometry geometry, ObjectDigests digests,
         State seal, std::optional<Accepted> base);
  ~Writer() override;

  uint64_t size() const override { return size_; }
  Task<Status> Reserve() override;
  Task<Status> Append(ByteSpan bytes) override;
  Task<Result<Committed>> Commit() override;
  Task<void> Abandon() override;

 private:
  uint32_t lanes_total() const { return geometry_.Total(); }
  StripeBuffer::Shape ShapeOfStripe(uint64_t stripe) const;
  Status CheckMayGrow(uint64_t bytes) const;
  Task<Status> NewStripe();
  Task<Status> SendStripe();
  Task<Status> OpenLanes(std::vector<uint32_t> lanes);
  Task<Status> OpenFills();
  Task<void> TakeWrite();
  Task<Status> SealAll(std::map<std::string, std::string> checksums);
  Task<Status> SealObject(std::map<std::string, std::string>& checksums);
  Manifest MakeManifest(std::map<std::string, std::string> checksums) const;
  void LoseArchive(Upload& upload, const Error& error);
  Status CheckRedundancy();
  size_t HomesHeld() const;

  Engine& engine_;
  const ObjectPath path_;
  const WriteOptions options_;
  const Geometry geometry_;
  const State seal_;
  const std::optional<Accepted> base_;  // of an exclusive creation
  const size_t losses_max_;             // lanes that may be missing at the end
  ObjectDigests digests_;
  ArchiveOpener opener_;

  uint64_t size_ = 0;
  uint64_t next_stripe_ = 0;
  std::shared_ptr<StripeBuffer> current_;
  StripeReservation reserved_;
  std::vector<Upload> uploads_;  // lanes in ascending order, then fills
  bool lanes_open_ = false;
  size_t lanes_lost_ = 0;
  std::vector<std::string> losses_;  // one clause for each lost archive
  Code loss_code_ = Code::kUnavailable;
  std::optional<Error> failed_;
  bool finished_ = false;  // committed, outcome unknown, or given up

  Gather<Status> writes_;                       // tag: stripe * lanes + index of the upload
  std::map<uint64_t, size_t> stripes_on_their_way_;  // stripe -> writes not answered yet
};

Writer::Writer(Engine& engine, ObjectPath path, WriteOptions options, Geometry geometry,
               ObjectDigests digests, State seal, std::optional<Accepted> base)
    : engine_(engine),
      path_(std::move(path)),
      options_(std::move(options)),
      geometry_(geometry),
      seal_(std::move(seal)),
      base_(std::move(base)),
      losses_max_(LossesMax(geometry, options_.archives_min)),
      digests_(std::move(digests)),
      opener_(engine, path_, seal_),
      writes_(engine.scope(), engine.executor()) {}

Writer::~Writer() {
  if (!finished_) engine_.scope().Spawn(Abandon());
}

// Marks the writer as finished at once and hands over what the task needs, so that the writer may go
// meanwhile.
Task<void> Writer::Abandon() {
  finished_ = true;
  current_.reset();
  reserved_.Take();
  if (!failed_) failed_ = Fail(Code::kCancelled, "the upload of {} was given up", path_.text());
  std::vector<ArchiveFilePtr> files;
  for (Upload& upload : uploads_) {
    if (!upload.closed && upload.file) files.push_back(std::move(upload.file));
    upload.closed = true;
  }
  return GiveUp(engine_, path_, seal_, opener_.Tried(), std::move(files));
}

StripeBuffer::Shape Writer::ShapeOfStripe(uint64_t stripe) const {
  StripeBuffer::Shape shape;
  shape.geometry = geometry_;
  shape.data_bytes_max = geometry_.StripeSize();
  if (options_.size_hint) shape.data_bytes_max = geometry_.StripeBytes(*options_.size_hint, stripe);
  const bool may_be_only = !options_.size_hint || *options_.size_hint <= geometry_.StripeSize();
  if (stripe == 0 && may_be_only) {
    shape.tail_room = ArchiveTailSizeMax(1, ManifestSizeGuess(path_, options_, lanes_total()));
  }
  return shape;
}

Status Writer::CheckMayGrow(uint64_t bytes) const {
  if (failed_) return *failed_;
  if (finished_) return Fail(Code::kInvalidArgument, "the upload of {} has ended", path_.text());
  if (options_.size_hint && bytes > *options_.size_hint - size_) {
    return Fail(Code::kInvalidArgument, "more bytes were sent for {} than the {} that were announced",
                path_.text(), *options_.size_hint);
  }
  const uint64_t size_max = kMembersMax * geometry_.StripeSize();
  if (bytes > size_max - size_) {
    return Fail(Code::kInvalidArgument,
                "{} exceeds {}, the most that a stream of unknown size can have with chunks of {}: announce "
                "the size, "
                "or configure larger chunks",
                path_.text(), FormatSize(size_max), FormatSize(geometry_.chunk_size_bytes));
  }
  return OkStatus();
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
  Status may_grow = CheckMayGrow(bytes.size());
  if (!may_grow) {
    if (!failed_) failed_ = may_grow.error();
    co_return std::move(may_grow);
  }
  while (!bytes.empty()) {
    // The first stripe waits for a byte more: an object of one stripe is written in another form.
    if (current_ && current_->full()) {
      Status sent = co_await SendStripe();
      if (!sent) co_return std::move(sent);
    }
    if (!current_) {
      Status ready = co_await NewStripe();
      if (!ready) co_return std::move(ready);
    }
    const size_t taken = current_->Append(bytes, digests_);
    size_ += taken;
    bytes = bytes.subspan(taken);
  }
  if (current_ && current_->full() && next_stripe_ > 0) {
    Status sent = co_await SendStripe();
    if (!sent) co_return std::move(sent);
  }
  co_return OkStatus();
}

// Waits for a place in the pipeline, then for memory, and starts the next stripe.
Task<Status> Writer::NewStripe() {
  const size_t in_flight_max = std::max<size_t>(engine_.options().stripes_in_flight, 1);
  while (stripes_on_their_way_.size() >= in_flight_max) {
    co_await TakeWrite();
    if (failed_) co_return *failed_;
  }
  const StripeBuffer::Shape shape = ShapeOfStripe(next_stripe_);
  Result<ByteBudget::Lease> half = ByteBudget::Lease();
  if (MutantActive(Mutant::kAdmitHalfAStripe))
    half = co_await engine_.budget().Acquire(shape.BufferBytes() / 2, ByteBudget::Use::kUpload);
  Result<ByteBudget::Lease> lease = reserved_.Take();
  if (lease->bytes() == 0)
    lease = co_await engine_.budget().Acquire(shape.BufferBytes(), ByteBudget::Use::kUpload);
  if (!lease) {
    failed_ = lease.error();
    co_return lease.error();
  }
  current_ = std::make_shared<StripeBuffer>(shape, next_stripe_, std::move(*lease));
  co_return OkStatus();
}

// Codes the current stripe and starts its writes; opens all lanes before the first.
Task<Status> Writer::SendStripe() {
  current_->Finish(digests_);
  if (!lanes_open_) {
    std::vector<uint32_t> all(lanes_total());
    std::iota(all.begin(), all.end(), 0);
    Status opened = co_await OpenLanes(std::move(all));
    if (!opened) co_return std::move(opened);
  }
  XEC_FAILPOINT("put.chunk");
  const uint64_t stripe = current_->stripe();
  for (size_t i = 0; i < uploads_.size(); ++i) {
    Upload& upload = uploads_[i];
    if (upload.lost || !upload.lane) continue;
    const uint32_t chunk = ChunkOfLane(stripe, *upload.lane, lanes_total());
    if (current_->ChunkSize(chunk) == 0) continue;
    Result<StripeBuffer::Piece> piece = current_->PlaceChunk(chunk, *upload.archive);
    if (!piece) {
      failed_ = piece.error();
      co_return piece.error();
    }
    ++stripes_on_their_way_[stripe];
    writes_.Start(stripe * lanes_total() + i,
                  Write(engine_.WriteCall(), upload.file, piece->archive_offset, piece->slice));
  }
  current_.reset();
  ++next_stripe_;
  co_return OkStatus();
}

Task<void> Writer::TakeWrite() {
  const Gather<Status>::Event event = co_await writes_.Next();
  XEC_FAILPOINT("put.chunk_written");
  const uint64_t stripe = event.tag / lanes_total();
  const auto pending = stripes_on_their_way_.find(stripe);
  if (--pending->second == 0) stripes_on_their_way_.erase(pending);
  if (!event.value->has_value()) LoseArchive(uploads_[event.tag % lanes_total()], event.value->error());
  const Status enough = CheckRedundancy();
  if (!enough && !failed_) failed_ = enough.error();
}

void Writer::LoseArchive(Upload& upload, const Error& error) {
  if (upload.lost) return;
  upload.lost = true;
  if (upload.lane) ++lanes_lost_;
  if (error.code == Code::kNoSpace || error.code == Code::kPermissionDenied) loss_code_ = error.code;
  losses_.push_back(fmt::format("{}: {}", engine_.server_id(upload.server), error.message));
  Log(LogLevel::kWarning, "object", "{}: lost an archive on {}: {}", path_.text(),
      engine_.server_id(upload.server), error.message);
}

Status Writer::CheckRedundancy() {
  if (lanes_lost_ <= losses_max_) return OkStatus();
  std::string text;
  for (const std::string& loss : losses_) text += (text.empty() ? "" : "; ") + loss;
  return Fail(loss_code_, "cannot write {}: {} of {} archives failed and at most {} may be missing ({})",
              path_.text(), lanes_lost_, lanes_total(), losses_max_, text);
}

Task<Status> Writer::OpenLanes(std::vector<uint32_t> lanes) {
  lanes_open_ = true;
  std::vector<OpenedArchive> opened = co_await opener_.OpenBest(lanes.size(), geometry_.parity_chunks);
  for (size_t i = 0; i < lanes.size(); ++i) {
    Upload upload;
    upload.lane = lanes[i];
    if (i < opened.size()) {
      upload.server = opened[i].server;
      upload.file = std::move(opened[i].file);
    } else {
      upload.lost = upload.closed = true;
      ++lanes_lost_;
    }
    uploads_.push_back(std::move(upload));
  }
  if (opened.size() < lanes.size()) {
    const Error problems = opener_.Problems();
    loss_code_ = problems.code;
    losses_.push_back(problems.message);
  }
  Status enough = CheckRedundancy();
  if (!enough) failed_ = enough.error();
  co_return std::move(enough);
}

size_t Writer::HomesHeld() const {
  const std::vector<MemberIndex> homes = engine_.Homes(path_);
  return static_cast<size_t>(std::count_if(uploads_.begin(), uploads_.end(), [&](const Upload& upload) {
    return !upload.lost && std::find(homes.begin(), homes.end(), upload.server) != homes.end();
  }));
}

// A version needs archives on a quorum of homes: adds those without members.
Task<Status> Writer::OpenFills() {
  const size_t quorum = Quorum(engine_.Homes(path_).size());
  if (HomesHeld() < quorum) {
    std::vector<OpenedArchive> opened = co_await opener_.OpenOnHomes(quorum - HomesHeld());
    for (OpenedArchive& archive : opened) {
      Upload upload;
      upload.server = archive.server;
      upload.file = std::move(archive.file);
      uploads_.push_back(std::move(upload));
    }
  }
  if (HomesHeld() >= quorum) co_return OkStatus();
  failed_ = Fail(Code::kNoQuorum, "cannot write {}: only {} of its homes take an archive, {} must ({})",
                 path_.text(), HomesHeld(), quorum, opener_.Problems().message);
  co_return *failed_;
}

Manifest Writer::MakeManifest(std::map<std::string, std::string> checksums) const {
  Manifest manifest;
  manifest.object_id = seal_.oid;
  manifest.size_bytes = size_;
  manifest.geometry = geometry_;
  manifest.page_size_bytes = static_cast<uint32_t>(geometry_.PageSize());
  manifest.path = path_.text();
  manifest.mtime_ns = engine_.executor().WallNow() * 1'000'000;
  manifest.mode = options_.mode;
  manifest.checksums = std::move(checksums);
  manifest.attributes = options_.attributes;
  manifest.servers.resize(lanes_total());
  for (const Upload& upload : uploads_) {
    if (!upload.lane) continue;
    if (upload.lost) {
      manifest.debts.push_back(*upload.lane);
    } else {
      manifest.servers[*upload.lane] = engine_.server_id(upload.server);
    }
  }
  return manifest;
}

// Writes what is left, syncs and closes every archive, in parallel.
Task<Status> Writer::SealAll(std::map<std::string, std::string> checksums) {
  const Manifest common = MakeManifest(std::move(checksums));
  Gather<Status> seals(engine_.scope(), engine_.executor());
  for (size_t i = 0; i < uploads_.size(); ++i) {
    Upload& upload = uploads_[i];
    if (upload.lost) continue;
    Manifest manifest = common;
    manifest.kind = upload.lane ? ManifestKind::kObject : ManifestKind::kWitness;
    manifest.lane = upload.lane;
    LastPiece last;
    if (upload.lane && current_) {
      last.stripe = current_;
      last.chunk = *upload.lane;
    }
    upload.closed = true;
    seals.Start(i, SealArchive(engine_, upload.file, upload.archive, std::move(last), std::move(manifest)));
  }
  current_.reset();
  while (seals.pending() > 0) {
    const Gather<Status>::Event event = co_await seals.Next();
    if (!event.value->has_value()) LoseArchive(uploads_[event.tag], event.value->error());
  }
  Status enough = CheckRedundancy();
  const size_t quorum = Quorum(engine_.Homes(path_).size());
  if (enough && HomesHeld() < quorum) {
    std::string text;
    for (const std::string& loss : losses_) text += (text.empty() ? "" : "; ") + loss;
    enough = Fail(Code::kNoQuorum, "cannot write {}: only {} of its homes have an archive, {} must ({})",
                  path_.text(), HomesHeld(), quorum, text);
  }
  co_return std::move(enough);
}

// Brings every archive to its seal; fills in the object's checksums.
Task<Status> Writer::SealObject(std::map<std::string, std::string>& checksums) {
  if (next_stripe_ == 0) {
    // At most one stripe: only lanes with bytes, chunk and end of the archive in one request.
    if (current_) current_->Finish(digests_);
    Status opened = co_await OpenLanes(LanesWithMembers(geometry_, size_));
    if (!opened) co_return std::move(opened);
    XEC_FAILPOINT("put.chunk");
  } else {
    if (current_) {
      Status sent = co_await SendStripe();
      if (!sent) co_return std::move(sent);
    }
    while (writes_.pending() > 0) co_await TakeWrite();
    if (failed_) co_return *failed_;
  }
  XEC_FAILPOINT("put.written");
  Status filled = co_await OpenFills();
  if (!filled) co_return std::move(filled);
  checksums = digests_.Finish();
  XEC_FAILPOINT("put.seal");
  Status sealed = co_await SealAll(checksums);
  XEC_FAILPOINT("put.sealed");
  co_return std::move(sealed);
}

Task<Result<Committed>> Writer::Commit() {
  const Status may_go_on = CheckMayGrow(0);
  if (!may_go_on) co_return may_go_on.error();
  if (options_.size_hint && *options_.size_hint != size_) {
    failed_ = Fail(Code::kInvalidArgument, "{} ended after {} bytes, {} were announced", path_.text(), size_,
                   *options_.size_hint);
    co_return *failed_;
  }
  Committed committed;
  const Status sealed = co_await SealObject(committed.checksums);
  if (!sealed) {
    failed_ = sealed.error();
    co_return sealed.error();
  }

  PutRequest request{path_, seal_, size_, {}, 0, base_};
  size_t wanted = 0;
  for (const Upload& upload : uploads_) {
    ++wanted;
    if (!upload.lost) request.archives.push_back(upload.server);
  }
  request.archives_min = wanted - std::min(wanted, losses_max_);
  Result<Version> version = co_await CommitPut(engine_, std::move(request));
  if (!version) {
    failed_ = version.error();
    // Where the outcome is open, the seals decide it and must stay.
    if (version.code() == Code::kUnknown) finished_ = true;
    co_return version.error();
  }
  finished_ = true;
  committed.version = *version;
  committed.size = size_;
  co_return std::move(committed);
}

}  // namespace

Task<Result<std::unique_ptr<ObjectWriter>>> ObjectWriter::Start(Engine& engine, ObjectPath path,
                                                                WriteOptions options) {
  XEC_FAILPOINT("put.start");
  if (path.IsRoot()) co_return Fail(Code::kIsDirectory, "/ is a directory");
  const Status attributes_fit = CheckUserAttributes(options.attributes);
  if (!attributes_fit) co_return attributes_fit.error();
  Result<Geometry> geometry =
      FitGeometry(GeometryFor(engine.descriptor(), path.text()), options.size_hint.value_or(0));
  if (!geometry) co_return geometry.error();
  Result<ObjectDigests> digests = ObjectDigests::Create(options.digests);
  if (!digests) co_return digests.error();

  const Status fits = CheckStripeFits(*geometry, engine.budget().limit());
  if (!fits) co_return fits.error();

  State seal = SealedState(engine.NewObjectId());
  std::optional<Accepted> base;
  if (options.exclusive) {
    Result<ExclusiveStart> start = co_await StartExclusive(engine, path);
    if (!start) co_return start.error();
    seal = ExclusiveSealedState(start->version, seal.oid);
    base = start->base;
  }
  std::unique_ptr<ObjectWriter> writer =
      std::make_unique<Writer>(engine, std::move(path), std::move(options), *geometry, std::move(*digests),
                               std::move(seal), std::move(base));
  co_return std::move(writer);
}

}  // namespace xec
