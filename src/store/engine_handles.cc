// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/engine_handles.hh"

#include <algorithm>

#include "store/bounded.hh"

namespace xec {
namespace {

using Bytes = std::vector<std::byte>;

// So that a read which is no longer waited for writes nowhere else.
struct ReadOwn {
  Bytes bytes;
  uint64_t length = 0;
};

Task<Result<ReadOwn>> ReadInto(std::shared_ptr<ObjectReader> reader, uint64_t offset, size_t most) {
  ReadOwn own{Bytes(most), 0};
  Result<uint64_t> got = co_await reader->Read(offset, own.bytes);
  if (!got) co_return got.error();
  own.length = *got;
  co_return std::move(own);
}

Task<Result<ReadOwn>> ReadBackInto(std::shared_ptr<ObjectWriter> writer, uint64_t offset, size_t most) {
  ReadOwn own{Bytes(most), 0};
  Result<uint64_t> got = co_await writer->ReadBack(offset, own.bytes);
  if (!got) co_return got.error();
  own.length = *got;
  co_return std::move(own);
}

Task<Result<Bytes>> ReadPiecesInto(std::shared_ptr<ObjectReader> reader, std::vector<ReadPiece> pieces) {
  size_t total = 0;
  for (const ReadPiece& piece : pieces) total += piece.into.size();
  Bytes bytes(total);
  size_t at = 0;
  for (ReadPiece& piece : pieces) {
    piece.into = MutableByteSpan(bytes).subspan(at, piece.into.size());
    at += piece.into.size();
  }
  Status read = co_await reader->ReadVector(std::move(pieces));
  if (!read) co_return read.error();
  co_return std::move(bytes);
}

class EngineReadHandle final : public ReadHandle {
 public:
  EngineReadHandle(Engine& engine, std::shared_ptr<ObjectReader> reader,
                   std::shared_ptr<ClientRequests> clients)
      : engine_(engine), reader_(std::move(reader)), clients_(std::move(clients)) {}

  uint64_t size() const override { return reader_->size(); }
  const Version& version() const override { return reader_->version(); }
  const Settings& settings() const override { return reader_->settings(); }

  Task<Result<uint64_t>> Read(uint64_t offset, MutableByteSpan into, CallOptions call) override {
    return ClientRequests::Count(
        clients_, call.Limited() ? ReadWithin(offset, into, std::move(call)) : reader_->Read(offset, into));
  }

  Task<Status> ReadVector(std::vector<ReadPiece> pieces, CallOptions call) override {
    const bool limited = call.Limited();
    return ClientRequests::Count(clients_, limited ? ReadVectorWithin(std::move(pieces), std::move(call))
                                                   : reader_->ReadVector(std::move(pieces)));
  }

 private:
  Task<Result<uint64_t>> ReadWithin(uint64_t offset, MutableByteSpan into, CallOptions call) {
    const uint64_t left = size() - std::min(size(), offset);
    const size_t most = std::min<uint64_t>(into.size(), left);
    Result<ReadOwn> own = co_await Bounded(engine_, std::move(call), ReadInto(reader_, offset, most));
    if (!own) co_return own.error();
    std::copy_n(own->bytes.begin(), own->length, into.begin());
    co_return own->length;
  }

  Task<Status> ReadVectorWithin(std::vector<ReadPiece> pieces, CallOptions call) {
    Result<Bytes> bytes = co_await Bounded(engine_, std::move(call), ReadPiecesInto(reader_, pieces));
    if (!bytes) co_return bytes.error();
    auto from = bytes->begin();
    for (const ReadPiece& piece : pieces) {
      std::copy_n(from, piece.into.size(), piece.into.begin());
      from += static_cast<ptrdiff_t>(piece.into.size());
    }
    co_return OkStatus();
  }

  Engine& engine_;
  const std::shared_ptr<ObjectReader> reader_;
  const std::shared_ptr<ClientRequests> clients_;
};

using Writer = std::shared_ptr<ObjectWriter>;

Task<Status> ReserveWith(Writer writer) { co_return co_await writer->Reserve(); }
Task<Status> AppendOwn(Writer writer, Bytes bytes) { co_return co_await writer->Append(bytes); }
Task<Status> EndStreamOf(Writer writer) { co_return co_await writer->EndStream(); }
Task<Result<Committed>> CommitWith(Writer writer) { co_return co_await writer->Commit(); }

// What is no longer waited for keeps the writer until it ends; the writer gives the upload up when it goes.
class EngineWriteHandle final : public WriteHandle {
 public:
  EngineWriteHandle(Engine& engine, Writer writer, std::shared_ptr<ClientRequests> clients)
      : engine_(engine), writer_(std::move(writer)), clients_(std::move(clients)) {}

  uint64_t size() const override { return writer_ ? writer_->size() : 0; }
  bool KeepPlace() override { return writer_ && writer_->KeepPlace(); }

  Task<Status> Reserve(CallOptions call) override {
    if (!writer_) co_return GivenUp();
    co_return co_await Ask(std::move(call), ReserveWith(writer_));
  }

  Task<Status> Append(ByteSpan bytes, CallOptions call) override {
    if (writer_ && !call.Limited()) return ClientRequests::Count(clients_, writer_->Append(bytes));
    return AppendWithin(bytes, std::move(call));
  }

  Status SetUserAttributes(std::map<std::string, std::string> attributes) override {
    if (!writer_) return GivenUp();
    return writer_->SetUserAttributes(std::move(attributes));
  }

  void SetSettings(Settings settings) override {
    if (writer_) writer_->SetSettings(settings);
  }

  bool AllInMemory() const override { return writer_ && writer_->AllInMemory(); }

  Task<Status> EndStream(CallOptions call) override {
    if (!writer_) co_return GivenUp();
    co_return co_await Ask(std::move(call), EndStreamOf(writer_));
  }

  Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into, CallOptions call) override {
    if (writer_ && !call.Limited()) return ClientRequests::Count(clients_, writer_->ReadBack(offset, into));
    return ReadBackWithin(offset, into, std::move(call));
  }

  Task<Result<Committed>> Commit(CallOptions call) override {
    if (!writer_) co_return GivenUp();
    co_return co_await Ask(std::move(call), CommitWith(writer_));
  }

  Task<void> Abandon() override {
    if (writer_) co_await writer_->Abandon();
  }

 private:
  static Error GivenUp() {
    return Fail(Code::kCancelled, "the upload was given up when a call of it was not waited for");
  }

  Task<Status> AppendWithin(ByteSpan bytes, CallOptions call) {
    if (!writer_) co_return GivenUp();
    Bytes own(bytes.begin(), bytes.end());
    co_return co_await Ask(std::move(call), AppendOwn(writer_, std::move(own)));
  }

  Task<Result<uint64_t>> ReadBackWithin(uint64_t offset, MutableByteSpan into, CallOptions call) {
    if (!writer_) co_return GivenUp();
    const uint64_t left = size() - std::min(size(), offset);
    const size_t most = std::min<uint64_t>(into.size(), left);
    Result<ReadOwn> own = co_await Ask(std::move(call), ReadBackInto(writer_, offset, most));
    if (!own) co_return own.error();
    std::copy_n(own->bytes.begin(), own->length, into.begin());
    co_return own->length;
  }

  template <typename T>
  Task<T> Ask(CallOptions call, Task<T> task) {
    const bool limited = call.Limited();
    T answer = co_await ClientRequests::Count(clients_, Bounded(engine_, std::move(call), std::move(task)));
    // The writer's own errors are others: it is left alone with what it still does.
    const bool left =
        limited && !answer && (answer.code() == Code::kDeadlineExceeded || answer.code() == Code::kCancelled);
    if (left) writer_.reset();
    co_return std::move(answer);
  }

  Engine& engine_;
  Writer writer_;  // null: given up
  const std::shared_ptr<ClientRequests> clients_;
};

}  // namespace

std::shared_ptr<ReadHandle> MakeReadHandle(Engine& engine, std::shared_ptr<ObjectReader> reader,
                                           std::shared_ptr<ClientRequests> clients) {
  return std::make_shared<EngineReadHandle>(engine, std::move(reader), std::move(clients));
}

std::unique_ptr<WriteHandle> MakeWriteHandle(Engine& engine, std::unique_ptr<ObjectWriter> writer,
                                             std::shared_ptr<ClientRequests> clients) {
  return std::make_unique<EngineWriteHandle>(engine, Writer(std::move(writer)), std::move(clients));
}

}  // namespace xec
