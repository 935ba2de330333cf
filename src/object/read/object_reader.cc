// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/read/object_reader.hh"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "object/archives/xrdec_archive_set.hh"
#include "object/read/read_ahead.hh"
#include "object/read/stripe_reader.hh"
#include "object/read/vector_read.hh"
#include "object/read/verify.hh"
#include "protocol/changed_settings.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// So many pieces of a vector read are read one by one at the same time.
constexpr size_t kPiecesAtOnceMax = 8;

Settings SettingsSeen(const Engine& engine, const NameInfo& info) {
  const std::optional<Settings> changed =
      ChangedSettings(info.listings, info.accepted.version, engine.HomeQuorum(info.path));
  return info.accepted.given.settings.With(changed.value_or(Settings()));
}

class Reader final : public ObjectReader {
 public:
  // `object` is the same for all readers of the same bytes, and for no others.
  Reader(Engine& engine, std::shared_ptr<ArchiveSet> archives, std::string object)
      : archives_(std::move(archives)),
        settings_(SettingsSeen(engine, archives_->info())),
        object_(std::move(object)),
        ahead_(std::make_shared<ReadAhead>(engine.stripes(), object_, engine.options().stripes_in_flight)) {}

  uint64_t size() const override { return archives_->info().accepted.size; }
  const Version& version() const override { return archives_->info().accepted.version; }
  const Settings& settings() const override { return settings_; }
  Task<Result<Manifest>> GetManifest() override;
  Task<Result<ReadContext>> GetContext() override;
  Task<Result<uint64_t>> Read(uint64_t offset, MutableByteSpan into) override;
  Task<Status> ReadVector(std::vector<Piece> pieces) override;
  Task<Result<uint64_t>> ReadWithin(ByteBudget& budget, uint64_t offset, MutableByteSpan into) override;
  Task<Status> Verify(std::function<void(const ChunkReport&)> report) override;
  Task<Status> Locate(std::function<void(const ChunkReport&)> report) override;
  std::vector<std::pair<uint32_t, MemberIndex>> DamagedBeside() const override {
    return archives_->strays().CorruptBeside();
  }

 private:
  struct Ready {
    ReadContext context;
    std::shared_ptr<Buffer> image;
  };
  Task<Result<Ready>> Prepare();
  // The error to answer with.
  Task<Error> Explain(Error error);
  // Are archives so large that they are not read whole?
  bool IsStreamed(const Geometry& geometry) const {
    return size() > geometry.data_chunks * kWholeArchiveBytesMax;
  }
  Task<Result<uint64_t>> ReadStripes(Ready ready, bool ahead, uint64_t offset, MutableByteSpan into);
  uint64_t EndOf(uint64_t offset, MutableByteSpan into) const {
    return std::min(size(), offset + std::min<uint64_t>(into.size(), size()));
  }

  const std::shared_ptr<ArchiveSet> archives_;
  const Settings settings_;
  const std::string object_;
  const std::shared_ptr<ReadAhead> ahead_;
};

Task<Result<Reader::Ready>> Reader::Prepare() {
  Result<ArchiveSet::Described> described = co_await archives_->Describe();
  if (!described) co_return co_await Explain(described.error());
  ReadContext context{archives_, std::move(described->manifest), object_};
  co_return Ready{std::move(context), std::move(described->image)};
}

Task<Error> Reader::Explain(Error error) {
  if (error.code != Code::kDataLoss) co_return error;
  co_return co_await archives_->WhyLost(std::move(error));
}

Task<Result<Manifest>> Reader::GetManifest() {
  Result<Ready> ready = co_await Prepare();
  if (!ready) co_return ready.error();
  co_return Manifest(*ready->context.manifest);
}

Task<Result<ReadContext>> Reader::GetContext() {
  Result<Ready> ready = co_await Prepare();
  if (!ready) co_return ready.error();
  co_return std::move(ready->context);
}

void CopyOut(const SliceCache::Value& data, uint64_t chunk_size, uint64_t from, MutableByteSpan into) {
  while (!into.empty()) {
    const Slice& chunk = data.slices[from / chunk_size];
    const size_t within = from % chunk_size;
    const size_t bytes = std::min(into.size(), chunk.length - within);
    std::memcpy(into.data(), chunk.span().data() + within, bytes);
    into = into.subspan(bytes);
    from += bytes;
  }
}

Task<Result<uint64_t>> Reader::Read(uint64_t offset, MutableByteSpan into) {
  if (offset >= size() || into.empty()) co_return uint64_t{0};
  archives_->UseKnownManifest();
  Result<Ready> ready = co_await Prepare();
  if (!ready) co_return ready.error();
  const bool ahead = IsStreamed(ready->context.geometry());
  if (ahead) ReadAhead::Note(ahead_, ready->context, offset, EndOf(offset, into));
  co_return co_await ReadStripes(std::move(*ready), ahead, offset, into);
}

// Adds the parts of the piece that lie in each chunk.
void AddChunkPieces(const StripeMap& stripes, ObjectReader::Piece piece, std::vector<ChunkPiece>& pieces) {
  const uint64_t chunk_size = stripes.geometry().chunk_size_bytes;
  while (!piece.into.empty()) {
    const StripeExtent extent = stripes.At(piece.offset);
    const uint64_t within = piece.offset - extent.begin;
    const uint64_t begin = within % chunk_size;
    const uint64_t bytes =
        std::min({uint64_t{piece.into.size()}, chunk_size - begin, extent.end() - piece.offset});
    pieces.push_back({extent.stripe,
                      static_cast<uint32_t>(within / chunk_size),
                      {begin, begin + bytes},
                      piece.into.first(bytes)});
    piece = {piece.offset + bytes, piece.into.subspan(bytes)};
  }
}

Task<Status> ReadChunkPiece(ReadContext context, ChunkPiece piece, std::shared_ptr<Buffer> image) {
  const uint64_t from = piece.chunk * context.geometry().chunk_size_bytes + piece.exact.begin;
  Status status = co_await ReadStripe(std::move(context), piece.stripe, from, piece.into, image);
  co_return std::move(status);
}

// Waits for all of them even when one fails, as they write into the caller's memory. Only pieces that do not
// wait for memory keep `image`: one that waits might wait for the image's.
Task<Status> ReadOneByOne(ReadContext context, std::vector<ChunkPiece> pieces,
                          std::shared_ptr<Buffer> image) {
  const std::weak_ptr<Buffer> kept = image;
  Gather<Status> gather(context.engine().scope(), context.engine().executor());
  Status status;
  for (size_t next = 0; next < pieces.size() || gather.pending() > 0;) {
    if (next < pieces.size() && status && gather.pending() < kPiecesAtOnceMax) {
      gather.Start(next, ReadChunkPiece(context, pieces[next], kept.lock()));
      ++next;
      continue;
    }
    image.reset();
    if (gather.pending() == 0) break;
    Gather<Status>::Event event = co_await gather.Next();
    if (event.value && !*event.value && status) status = std::move(*event.value);
  }
  co_return std::move(status);
}

Task<Status> Reader::ReadVector(std::vector<Piece> pieces) {
  for (const Piece& piece : pieces) {
    if (piece.offset > size() || piece.into.size() > size() - piece.offset)
      co_return Fail(Code::kInvalidArgument, "a piece of the vector lies beyond the end of {}",
                     archives_->info().path.text());
  }
  archives_->UseKnownManifest();
  Result<Ready> ready = co_await Prepare();
  if (!ready) co_return ready.error();
  const ReadContext context = ready->context;
  std::vector<ChunkPiece> wanted;
  for (const Piece& piece : pieces) {
    if (piece.into.empty()) continue;
    SliceCache::ValuePtr data;
    const StripeExtent extent = context.stripes().At(piece.offset);
    if (piece.into.size() <= extent.end() - piece.offset) data = co_await ahead_->Find(extent.stripe);
    if (data) {
      CopyOut(*data, context.geometry().chunk_size_bytes, piece.offset - extent.begin, piece.into);
    } else {
      AddChunkPieces(context.stripes(), piece, wanted);
    }
  }
  if (context.manifest->page_size_bytes != 0 && IsStreamed(context.geometry()))
    wanted = co_await ReadPieces(context, std::move(wanted));
  Status status = co_await ReadOneByOne(context, std::move(wanted), std::move(ready->image));
  if (!status) co_return co_await Explain(status.error());
  co_return OkStatus();
}

Task<Result<uint64_t>> Reader::ReadWithin(ByteBudget& budget, uint64_t offset, MutableByteSpan into) {
  if (offset >= size() || into.empty()) co_return uint64_t{0};
  Result<Ready> ready = co_await Prepare();
  if (!ready) co_return ready.error();
  ready->context.budget = &budget;
  co_return co_await ReadStripes(std::move(*ready), false, offset, into);
}

Task<Result<uint64_t>> Reader::ReadStripes(Ready ready, bool ahead, uint64_t offset, MutableByteSpan into) {
  const uint64_t end = EndOf(offset, into);
  const uint64_t chunk_size = ready.context.geometry().chunk_size_bytes;
  for (uint64_t at = offset; at < end;) {
    const StripeExtent extent = ready.context.stripes().At(at);
    const uint64_t stop = std::min(end, extent.end());
    const MutableByteSpan target = into.subspan(at - offset, stop - at);
    SliceCache::ValuePtr data;
    if (ahead) {
      ReadAhead::Advance(ahead_, ready.context, at, offset, end);
      data = co_await ahead_->Find(extent.stripe);
    }
    if (data) {
      CopyOut(*data, chunk_size, at - extent.begin, target);
    } else {
      Status status =
          co_await ReadStripe(ready.context, extent.stripe, at - extent.begin, target, ready.image);
      if (!status) co_return co_await Explain(status.error());
    }
    if (stop == extent.end()) ahead_->Passed(extent.stripe);
    at = stop;
  }
  co_return end - offset;
}

Task<Status> Reader::Verify(std::function<void(const ChunkReport&)> report) {
  Result<Ready> ready = co_await Prepare();
  if (!ready) co_return ready.error();
  ready->image.reset();
  Status status = co_await VerifyObject(ready->context, std::move(report));
  co_return std::move(status);
}

Task<Status> Reader::Locate(std::function<void(const ChunkReport&)> report) {
  Result<Ready> ready = co_await Prepare();
  if (!ready) co_return ready.error();
  ready->image.reset();
  Status status = co_await LocateObject(ready->context, std::move(report));
  co_return std::move(status);
}

Task<Result<std::shared_ptr<ObjectReader>>> OpenNative(Engine& engine, NameInfo info,
                                                       std::shared_ptr<RepairQueue> damage, bool ends_only) {
  if (info.accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", info.path.text());
  if (info.accepted.kind != Accepted::kObject)
    co_return Fail(Code::kNotFound, "{} does not exist", info.path.text());
  std::string object = VersionKey(info);
  auto archives = std::make_shared<ArchiveSet>(engine, std::move(info), std::move(damage), ends_only);
  std::shared_ptr<ObjectReader> reader =
      std::make_shared<Reader>(engine, std::move(archives), std::move(object));
  co_return std::move(reader);
}

}  // namespace

Task<Result<std::shared_ptr<ObjectReader>>> ObjectReader::Open(Engine& engine, NameInfo info,
                                                               std::shared_ptr<RepairQueue> damage) {
  return OpenNative(engine, std::move(info), std::move(damage), false);
}

Task<Result<std::shared_ptr<ObjectReader>>> ObjectReader::OpenEnds(Engine& engine, NameInfo info) {
  return OpenNative(engine, std::move(info), nullptr, true);
}

Task<Result<std::shared_ptr<ObjectReader>>> ObjectReader::OpenXrdec(Engine& engine, NameInfo info) {
  const Geometry geometry = GeometryFor(engine.descriptor(), info.path.text());
  // The versions of XrdEc are no more than times: nothing is shared between readers.
  static std::atomic<uint64_t> readers = 0;
  std::string object = fmt::format("{} #{}", info.path.text(), ++readers);
  auto archives = std::make_shared<XrdecArchiveSet>(engine, std::move(info), geometry);
  std::shared_ptr<ObjectReader> reader =
      std::make_shared<Reader>(engine, std::move(archives), std::move(object));
  co_return std::move(reader);
}

}  // namespace xec
