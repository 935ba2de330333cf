// SPDX-License-Identifier: LGPL-3.0-or-later
// sparse and vector: parts of one object, as analysis programs read them. Each client has it open all the
// time; opening is not measured.
#include "load/pattern.hh"
#include "load/scenarios.hh"

namespace xec::load {
namespace {

// What both have in common: open files, and comparing.
class Readers {
 public:
  Readers(Session& session, const std::string& path, uint64_t size)
      : session_(session), path_(path), size_(size), pattern_(path) {
    for (int i = 0; i < session.clients(); ++i) files_.emplace_back(new RemoteFile(session.client(i), path));
  }

  RemoteFile& file(int number) { return *files_[static_cast<size_t>(number)]; }

  bool OpenAll() {
    return session_.Prepare([this](int number) { return Open(number); });
  }

  // Takes no part in the measured time. An error is a failure of the run.
  void CloseAll() {
    session_.Prepare([this](int number) { return file(number).Close(); });
  }

  // The outcome of a read of `pieces` into `got`, one behind the other.
  Status Check(const Reply& reply, const RemoteFile& file, const std::vector<Piece>& pieces,
               std::span<const std::byte> got) const {
    const Status status = file.CheckRead(reply, got.size());
    if (!status || !session_.options().compare) return status;
    for (const Piece& piece : pieces) {
      if (!pattern_.Matches(piece.offset, got.first(piece.length))) {
        return Fail(Code::kCorruption, "{}: wrong bytes between {} and {}", path_, piece.offset,
                    piece.offset + piece.length);
      }
      got = got.subspan(piece.length);
    }
    return OkStatus();
  }

 private:
  Task<Status> Open(int number) {
    const Result<uint64_t> size = co_await file(number).Open();
    if (!size) co_return size.error();
    if (*size != size_) {
      co_return Fail(Code::kInvalidArgument, "{} has {} bytes instead of {}", path_, *size, size_);
    }
    co_return OkStatus();
  }

  Session& session_;
  const std::string& path_;
  const uint64_t size_;
  const Pattern pattern_;
  std::vector<std::unique_ptr<RemoteFile>> files_;
};

Task<void> SparseClient(Session& session, Readers& readers, const SparseOptions& options, int number) {
  Random random(Mix64(options.seed) + static_cast<uint64_t>(number));
  RemoteFile& file = readers.file(number);
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(options.piece);
  const std::span<std::byte> into(buffer.get(), options.piece);
  std::vector<Piece> pieces(1);
  for (uint64_t done = 0; !session.IsOver(done, 0, options.seconds); ++done) {
    pieces[0] = {random.Below(options.size - options.piece + 1), static_cast<uint32_t>(options.piece)};
    Request request;
    const TimePoint start = session.loop().Now();
    file.StartRead(request, pieces[0].offset, into, /*pages=*/false);
    const Reply reply = co_await request;
    if (!session.Count(start, options.piece, readers.Check(reply, file, pieces, into))) co_return;
  }
}

Task<void> VectorClient(Session& session, Readers& readers, const VectorOptions& options, int number) {
  Random random(Mix64(options.seed) + static_cast<uint64_t>(number));
  RemoteFile& file = readers.file(number);
  for (uint64_t done = 0; done < options.count; ++done) {
    const std::vector<Piece> pieces = ChoosePieces(options.pieces, random);
    uint64_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.length;
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(bytes);
    const std::span<std::byte> into(buffer.get(), bytes);
    Request request;
    const TimePoint start = session.loop().Now();
    file.StartVectorRead(request, pieces, into);
    const Reply reply = co_await request;
    if (!session.Count(start, bytes, readers.Check(reply, file, pieces, into))) co_return;
  }
}

template <typename Options>
nlohmann::ordered_json RunReads(Session& session, const Options& options,
                                Task<void> (*client)(Session&, Readers&, const Options&, int)) {
  if (!session.ConnectAll()) return session.Report();
  Readers readers(session, options.path, options.size);
  if (readers.OpenAll()) {
    session.MeasureClients([&](int number) { return client(session, readers, options, number); });
  }
  readers.CloseAll();
  return session.Report();
}

}  // namespace

nlohmann::ordered_json RunSparse(Session& session, const SparseOptions& options) {
  return RunReads(session, options, SparseClient);
}

nlohmann::ordered_json RunVector(Session& session, const VectorOptions& options) {
  return RunReads(session, options, VectorClient);
}

}  // namespace xec::load
