// SPDX-License-Identifier: LGPL-3.0-or-later
// StripeUpload: the bytes of one object on their way into sealed archives. What both layouts share: the
// pipeline of stripes (stripe_upload.cc), the archives of the lanes, and what happens when a server fails or
// hangs meanwhile (stripe_failover.cc): its lane goes on at once on a spare server, and what the lane held is
// decoded from the other archives and written there before they are sealed; without a spare the lane is lost.
// What was taken can be read back (stripe_read_back.cc).
// What is sealed, and committing, is the writers' (object_writer.cc, xrdec/writer.cc).
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "api/handles.hh"
#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "base/mutex.hh"
#include "codec/object_digests.hh"
#include "object/write/archive_opener.hh"
#include "object/write/stripe_buffer.hh"
#include "runtime/gather.hh"
#include "runtime/slice_cache.hh"

namespace xec {

// One archive of the upload.
struct UploadedArchive {
  std::optional<uint32_t> lane;  // absent: a fill
  MemberIndex server = 0;
  ArchiveFilePtr file;  // null: no server took it
  std::shared_ptr<ArchiveWriter> archive = std::make_shared<ArchiveWriter>();
  bool lost = false;
  bool sealed = false;
  bool closed = false;
  bool late_to_read = false;  // what is to be read back from it is asked for last
  uint32_t spares = 0;  // how often the lane went on on a spare server
  // Stripes whose chunks were on a server that was given up, to be written again; descending.
  std::vector<uint64_t> missing;
};

struct UploadPlan {
  ObjectPath path;
  std::string object_id;
  Geometry geometry;
  WriteOptions options;
  // An object of one stripe is not sent before its archives are sealed: chunk and end go in one request, to
  // lanes with bytes only. Else every stripe is sent to all lanes, chunks without bytes as empty members.
  bool one_stripe_form = true;
  ArchivePlace place;
};

// Keeps a stripe in memory until one of its writes is answered, whether or not anybody takes the answer, or
// until its server is given up, or has been late for long while nobody looked. Thread-safe.
class StripeHold {
 public:
  explicit StripeHold(std::shared_ptr<StripeBuffer> stripe) : stripe_(std::move(stripe)) {}
  void LetGo() {
    std::shared_ptr<StripeBuffer> last;  // freed without the lock
    MutexLock lock(mutex_);
    last.swap(stripe_);
  }
  void SetWritten(TimePoint now) { written_at_ = now; }
  bool written() const { return written_at() != TimePoint::min(); }
  TimePoint written_at() const { return written_at_; }

 private:
  std::atomic<TimePoint> written_at_ = TimePoint::min();
  Mutex mutex_;
  std::shared_ptr<StripeBuffer> stripe_ XEC_GUARDED_BY(mutex_);
};

// What computes the checksums that an upload wants or declares. Error: kInvalidArgument (there is no such
// algorithm), as ObjectDigests::Create.
Result<ObjectDigests> DigestsOfUpload(const WriteOptions& options);

// Owned and called as an ObjectWriter.
class StripeUpload {
 public:
  StripeUpload(Engine& engine, UploadPlan plan, ObjectDigests digests);

  // Bytes accepted so far.
  uint64_t size() const { return size_; }
  const UploadPlan& plan() const { return plan_; }
  const Geometry& geometry() const { return plan_.geometry; }
  uint32_t lanes_total() const { return plan_.geometry.Total(); }

  // Another place for the archives than that of the plan; before the first is opened.
  void SetPlace(ArchivePlace place) { opener_.SetPlace(std::move(place)); }

  // As ObjectWriter's.
  Task<Status> Reserve();
  bool KeepPlace();
  Task<Status> Append(ByteSpan bytes);
  Status SetUserAttributes(std::map<std::string, std::string> attributes);
  // In place of those of the options.
  void SetSettings(Settings settings) { settings_ = settings; }
  const Settings& settings() const { return settings_; }
  bool AllInMemory() const { return !sent(); }
  Task<Status> EndStream();
  Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into);

  // Ends the stream: sends what is left and waits for all writes, unless the object is held back whole (see
  // below). Error: also when the size is not the one announced.
  Task<Status> Flush();
  // After Flush: the only stripe of an object that was not sent; null if stripes were sent or there are no
  // bytes.
  std::shared_ptr<StripeBuffer> TakeHeldBack() { return std::move(current_); }
  bool sent() const { return next_stripe_ > 0; }

  // Creates the archives of these lanes, ascending. Once; Append and Flush do it for what they send.
  Task<Status> OpenLanes(std::vector<uint32_t> lanes);
  Task<Status> OpenAllLanes();
  // Creates archives without members on homes until `count` more homes have one; fewer when no home is left,
  // `late_homes` not waited for if so wanted.
  Task<void> OpenFills(size_t count, Late late_homes);
  const std::vector<UploadedArchive>& archives() const { return archives_; }
  std::optional<TimePoint> opened_at() const { return opener_.opened_at(); }  // the first of them

  // After Flush: runs `seal` for every archive, in parallel, which ends and syncs it, then closes all. Where
  // it fails or is late the lane moves to a spare, and all are sealed once more, with manifests that name it.
  // Error: as CheckRedundancy.
  using Seal = std::function<Task<Status>(const UploadedArchive&)>;
  Task<Status> SealAll(Seal seal);

  // So many bytes of a chunk are sent there: for the placement of later archives.
  void NoteWritten(MemberIndex server, uint64_t bytes) {
    engine_.space().NoteWritten(engine_.server_id(server), bytes);
  }
  // The archive does not count any more, and its server gets nothing else.
  void Lose(size_t index, const Error& error);
  // Error: more lanes are lost than the options allow; names each.
  Status CheckRedundancy() const;
  // How many lanes may be missing at the end.
  size_t losses_max() const { return losses_max_; }
  // "s03: ...; s07: ..."
  std::string Losses() const;
  Error OpenProblems() const { return opener_.Problems(); }
  // Servers that were asked for an archive, whatever became of it.
  std::vector<MemberIndex> Tried() const { return opener_.Tried(); }

  // After Flush, once. Error: kInvalidArgument, the bytes are not those that were declared.
  Result<ChecksumValues> Checksums();
  // Lanes that are lost, ascending.
  std::vector<uint32_t> Debts() const;
  void LogDebts() const;
  // With everything but kind and lane; its time is that of the first call.
  Manifest MakeManifest(std::map<std::string, std::string> checksums);

  // The first error; nothing is accepted after it, and memory is let go.
  const std::optional<Error>& failed() const { return failed_; }
  void SetFailed(const Error& error);

  // Lets go of memory and of open archives. `servers`: where archives may lie.
  struct Remains {
    std::map<MemberIndex, ArchiveFilePtr> files;
    std::vector<MemberIndex> servers;
  };
  Remains GiveUp();

 private:
  // A stripe whose writes were not all answered.
  struct InFlight {
    InFlight() = default;
    ~InFlight() {
      for (const auto& [index, hold] : holds) hold->LetGo();
    }
    // Owned by the holds alone: an upload that does not look at the answers for a while holds no memory.
    std::weak_ptr<StripeBuffer> stripe;
    std::map<size_t, std::shared_ptr<StripeHold>> holds;  // of the writes, by archive
    std::shared_ptr<const std::vector<std::shared_ptr<StripeHold>>> last_holds;  // those, for their keeper
    ChunkMask lanes = 0;  // whose chunks the buffer can give
    ChunkMask waiting = 0;  // those not answered yet
    ChunkMask late = 0;  // those to be given up unless they are answered first
    TimePoint sent;
    std::optional<TimePoint> safe;  // since when at most m are waited for
    bool whole = false;  // sent to more than m lanes, and to none of them again
  };
  struct Restored {
    std::shared_ptr<StripeBuffer> stripe;  // null: too few chunks can be read
    ChunkMask lanes = 0;  // whose chunks are missing
    ChunkMask present = 0;  // chunks that were read
    std::vector<std::pair<size_t, Error>> failures;  // by archive
  };
  // What was read back lies in the cache, as long as this is there.
  class CacheUse {
   public:
    CacheUse(std::shared_ptr<SliceCache> cache, const std::string& object_id);
    CacheUse(const CacheUse&) = delete;
    CacheUse& operator=(const CacheUse&) = delete;
    ~CacheUse();
    const std::shared_ptr<SliceCache>& cache() const { return cache_; }
    SliceCache::Key Key(uint64_t chunk) const { return {object_, chunk}; }
    void Used(uint64_t chunk) { cache_->Used(Key(chunk)); }

   private:
    const std::shared_ptr<SliceCache> cache_;
    const std::string object_;
  };

  size_t InFlightMax() const { return std::max<size_t>(engine_.options().stripes_in_flight, 1); }
  StripeBuffer::Shape ShapeOfStripe(uint64_t stripe) const;
  Status CheckMayGrow(uint64_t bytes) const;
  Task<Result<ByteBudget::Lease>> Acquire(uint64_t bytes);
  Task<Result<ByteBudget::Lease>> MemoryOfFirstStripe();
  uint64_t BytesBeside() const;
  void GiveUpPlace();
  Task<Status> NewStripe();
  Task<Status> SendStripe();
  Status StartWrites(std::shared_ptr<StripeBuffer> stripe, ChunkMask lanes);
  Status StartWrite(InFlight& flight, const std::shared_ptr<StripeBuffer>& stripe, size_t index);
  Task<void> TakeEvent();
  void Answered(uint64_t stripe, size_t index);
  void LookWhenLate(uint64_t stripe);
  void KeepNotForLong(InFlight& flight);
  Duration Patience(Duration others) const;
  TimePoint DueAt(const InFlight& flight) const;
  void StartLateTimer(uint64_t stripe, TimePoint due);

  Task<void> FailOver(size_t index, Error error);
  void MoveTo(UploadedArchive& archive, OpenedArchive spare);
  Status SendAgain(size_t index);

  Task<void> GiveUpLate(size_t tag);
  std::optional<uint64_t> LowestMissing() const;
  Task<Status> RecreateNext();
  Task<Status> Recreate();
  Task<Restored> RestoreMissing(uint64_t stripe);
  Task<Restored> ReadChunks(std::shared_ptr<StripeBuffer> buffer, std::optional<uint32_t> left_out);
  Task<Status> SendRest();
  uint64_t KeyOf(uint64_t stripe, uint32_t chunk) const;
  Task<Result<SliceCache::ValuePtr>> ChunkOf(uint64_t stripe, uint32_t chunk);
  Task<Result<Slice>> ChunkBack(uint64_t stripe, uint32_t chunk);
  Task<Result<Slice>> OwnChunkBack(uint64_t stripe, uint32_t chunk, Duration patience);
  Task<Result<Slice>> DecodedBack(uint64_t stripe, uint32_t chunk);
  Task<Status> SealOnce(const Seal& seal);
  void SealAgain();
  Task<void> CloseSealed();

  Engine& engine_;
  const UploadPlan plan_;
  std::map<std::string, std::string> attributes_;
  Settings settings_;
  const size_t losses_max_;
  ObjectDigests digests_;
  ArchiveOpener opener_;

  uint64_t size_ = 0;
  uint64_t next_stripe_ = 0;
  std::shared_ptr<StripeBuffer> current_;
  std::unique_ptr<CacheUse> cache_use_;  // null: the stream has not ended
  StripeReservation reserved_;
  ByteBudget::Lease claim_;  // of a stripe and what is beside, until no stripe can be written again
  ByteBudget::Lease beside_;  // as long as claim_
  std::vector<UploadedArchive> archives_;  // lanes in ascending order, then fills
  std::vector<std::string> losses_;  // one clause for each lost archive
  std::optional<Code> loss_code_;  // of all losses, if they agree
  std::optional<Error> failed_;
  std::optional<int64_t> mtime_ns_;
  Duration usual_{0};  // what the last whole stripe took until it was safe
  size_t padding_bytes_ = 0;  // of manifests, so that they are not shorter than those written before

  Gather<Status> writes_;  // tags: see WriteTag
  bool memory_came_ = false;  // what Acquire waits for
  std::map<uint64_t, InFlight> in_flight_;  // by stripe
};

// Tags of the events of an upload's writes: of one write, and of the moment at which a stripe is late. And of
// memory that has come.
constexpr size_t kMemoryTag = SIZE_MAX;
struct WriteTag {
  uint64_t stripe = 0;
  uint32_t spares = 0;  // of the archive, as it was sent
  size_t index = 0;  // of the archive

  size_t Pack() const { return stripe << 32 | static_cast<size_t>(spares) << 16 | index; }
  static WriteTag Unpack(size_t tag) {
    return {tag >> 32, static_cast<uint32_t>(tag >> 16) & 0xffff, tag & 0xffff};
  }
};
struct LateTag {
  uint64_t stripe = 0;
  // kDue: its time is over. kLooked: what had been answered before that has been taken. kNext: the next one
  // of those that are late is given up.
  enum Stage : uint8_t { kDue, kLooked, kNext } stage = kDue;

  size_t Pack() const { return stripe << 2 | stage; }
  static LateTag Unpack(size_t tag) { return {tag >> 2, static_cast<Stage>(tag & 3)}; }
};

// Closes the files, in parallel, whatever the servers answer.
Task<void> CloseAll(Engine& engine, std::map<MemberIndex, ArchiveFilePtr> files);

}  // namespace xec
