// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/transfer.hh"

#include <algorithm>
#include <optional>

#include "base/units.hh"
#include "load/pattern.hh"

namespace xec::load {
namespace {

// What one piece needs while it is on its way.
struct Slot {
  Request read;
  Request write;
  std::unique_ptr<std::byte[]> buffer;
};

bool IsCopy(const Transfer& transfer) { return !transfer.source.empty() && !transfer.target.empty(); }

class Mover {
 public:
  Mover(Session& session, Connection& connection, Transfer transfer, const TransferOptions& options)
      : session_(session),
        options_(options),
        size_(transfer.size),
        pieces_((transfer.size + options.request_bytes - 1) / options.request_bytes),
        pattern_(transfer.source.empty() ? transfer.target : transfer.source),
        slots_(std::min((IsCopy(transfer) ? 2 : 1) * options.window, std::max<uint64_t>(pieces_, 1))) {
    if (!transfer.source.empty()) source_.emplace(connection, transfer.source);
    if (!transfer.target.empty()) target_.emplace(connection, transfer.target);
  }

  Task<Status> Run() {
    Status status = co_await OpenFiles();
    if (status) status = co_await MoveAll();
    // After an error some are still in flight, and use our buffers.
    for (Slot& slot : slots_) {
      if (slot.read.started()) co_await slot.read;
      if (slot.write.started()) co_await slot.write;
    }
    for (std::optional<RemoteFile>* file : {&source_, &target_}) {
      if (!*file) continue;
      const Status closed = co_await (*file)->Close();
      if (status) status = closed;
    }
    co_return status;
  }

 private:
  Task<Status> OpenFiles() {
    if (source_) {
      const Result<uint64_t> size = co_await source_->Open();
      if (!size) co_return size.error();
      if (*size != size_) {
        co_return Fail(Code::kInvalidArgument, "{} has {} bytes instead of {}", source_->path(), *size,
                       size_);
      }
    }
    if (target_) {
      const Status created = co_await target_->Create(size_);
      if (!created) co_return created;
    }
    co_return OkStatus();
  }

  // Piece i is read at step i, its answer awaited and its write sent a window later, and that awaited another
  // window later; without a source it is written at step i.
  Task<Status> MoveAll() {
    const uint64_t window = options_.window;
    const uint64_t write_lag = source_ ? window : 0;
    const uint64_t steps = pieces_ + write_lag + (target_ ? window : 0);
    const TimePoint start = session_.loop().Now();
    for (uint64_t step = 0; step < steps; ++step) {
      Status status;
      if (target_ && IsPiece(step, write_lag + window)) {
        Request& oldest = SlotOf(step - write_lag - window).write;
        const Reply reply = co_await oldest;
        status = target_->CheckWrite(reply);
      }
      if (status && source_ && IsPiece(step, window)) {
        Request& oldest = SlotOf(step - window).read;
        const Reply reply = co_await oldest;
        status = CheckRead(step - window, reply);
      }
      if (!status) co_return status;
      if (target_ && IsPiece(step, write_lag)) {
        if (!source_) co_await session_.loop().SleepUntil(start + DueAfter(step));
        StartWrite(step - write_lag);
      }
      if (source_ && IsPiece(step, 0)) {
        co_await session_.loop().SleepUntil(start + DueAfter(step));
        StartRead(step);
      }
    }
    co_return OkStatus();
  }

  bool IsPiece(uint64_t step, uint64_t lag) const { return step >= lag && step - lag < pieces_; }
  Slot& SlotOf(uint64_t piece) { return slots_[piece % slots_.size()]; }
  uint64_t OffsetOf(uint64_t piece) const { return piece * options_.request_bytes; }
  uint64_t LengthOf(uint64_t piece) const {
    return std::min(options_.request_bytes, size_ - OffsetOf(piece));
  }

  Duration DueAfter(uint64_t piece) const {
    if (options_.rate_mib_s <= 0) return Duration::zero();
    const double seconds =
        static_cast<double>(OffsetOf(piece)) / static_cast<double>(kMiB) / options_.rate_mib_s;
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }

  void StartRead(uint64_t piece) {
    Slot& slot = SlotOf(piece);
    if (!slot.buffer) {
      slot.buffer = std::make_unique_for_overwrite<std::byte[]>(std::min(options_.request_bytes, size_));
    }
    source_->StartRead(slot.read, OffsetOf(piece), {slot.buffer.get(), LengthOf(piece)}, options_.page_reads);
  }

  void StartWrite(uint64_t piece) {
    const uint64_t offset = OffsetOf(piece), length = LengthOf(piece);
    Slot& slot = SlotOf(piece);
    const std::span<const std::byte> bytes =
        source_ ? std::span<const std::byte>(slot.buffer.get(), length) : pattern_.Bytes(offset, length);
    target_->StartWrite(slot.write, offset, bytes, options_.page_writes);
  }

  Status CheckRead(uint64_t piece, const Reply& reply) {
    const Status status = source_->CheckRead(reply, LengthOf(piece));
    if (!status || !session_.options().compare) return status;
    if (!pattern_.Matches(OffsetOf(piece), {SlotOf(piece).buffer.get(), LengthOf(piece)})) {
      return Fail(Code::kCorruption, "{}: wrong bytes between {} and {}", source_->path(), OffsetOf(piece),
                  OffsetOf(piece) + LengthOf(piece));
    }
    return OkStatus();
  }

  Session& session_;
  const TransferOptions& options_;
  const uint64_t size_;
  const uint64_t pieces_;
  const Pattern pattern_;
  std::vector<Slot> slots_;  // a ring: piece i uses i % slots; of a copy two windows are under way
  std::optional<RemoteFile> source_;
  std::optional<RemoteFile> target_;
};

}  // namespace

Task<Status> RunTransfer(Session& session, Connection& connection, Transfer transfer,
                         const TransferOptions& options) {
  Mover mover(session, connection, std::move(transfer), options);
  const Status status = co_await mover.Run();
  co_return status;
}

}  // namespace xec::load
