// SPDX-License-Identifier: LGPL-3.0-or-later
// Speed of the engine without network and disks: objects written to memory servers that forget the bytes, and
// read from memory servers, whose copy of them is part of it. Bytes per second are bytes of the object for
// each second of CPU time of all threads: what one core does.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/random.hh"
#include "commit/engine/names.hh"
#include "object/read/object_reader.hh"
#include "object/write/object_writer.hh"
#include "runtime/sync_wait.hh"
#include "runtime/thread_pool.hh"
#include "server/decorators/decorator.hh"
#include "server/kinds/memory_server.hh"

namespace xec {
namespace {

constexpr Geometry kGeometry{8, 2, kMiB};
constexpr size_t kServers = 12;
constexpr size_t kPieceBytes = kMiB;  // front ends hand on up to 2 MiB
constexpr int kThreads = 4;  // as a gateway has

std::vector<std::byte> RandomPiece() {
  std::vector<std::byte> bytes(kPieceBytes);
  Random random(1);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

// Takes what is written for written: growing files in memory would take four times as long as all the rest.
struct Forgetful {
  Executor& executor;

  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done) {
    if constexpr (std::is_void_v<T>) {
      if (request.operation == Operation::kWrite)
        return executor.Post([done = std::move(done)]() mutable { done(OkStatus()); });
    }
    start(std::move(done));
  }
};

class ForgetfulServer final : public DecoratedServer<Forgetful> {
 public:
  ForgetfulServer(DataServerPtr inner, Executor& executor)
      : DecoratedServer(std::move(inner), std::make_shared<Forgetful>(executor)) {}
};

class MemoryStore {
 public:
  explicit MemoryStore(bool forgetful = false) : pool_("bench", kThreads) {
    StoreDescriptor descriptor;
    descriptor.store_id = std::string(32, 'a');
    descriptor.sync = SyncPolicy::kNone;
    descriptor.tolerance = kGeometry.parity_chunks;
    descriptor.geometry = kGeometry;
    std::vector<DataServerPtr> servers;
    for (size_t i = 0; i < kServers; ++i) {
      Member member;
      member.id = fmt::format("s{:02}", i);
      member.address = "local";
      member.host = member.id;
      descriptor.members.push_back(member);
      servers.push_back(std::make_shared<MemoryServer>(member.id, pool_));
      if (forgetful) servers.back() = std::make_shared<ForgetfulServer>(servers.back(), pool_);
    }
    engine_ = std::make_unique<Engine>(descriptor, servers, pool_, scope_, 7, EngineOptions());
  }
  ~MemoryStore() { scope_.Drain(); }

  Status Write(uint64_t bytes, ByteSpan piece) {
    WriteOptions options;
    options.size_hint = bytes;
    XEC_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                         SyncWait(ObjectWriter::Start(*engine_, path_, std::move(options))));
    for (uint64_t at = 0; at < bytes; at += piece.size()) XEC_TRY(SyncWait(writer->Append(piece)));
    const Result<Committed> committed = SyncWait(writer->Commit());
    return committed ? OkStatus() : Status(committed.error());
  }

  Status ReadAll(std::vector<std::byte>& piece) {
    XEC_ASSIGN_OR_RETURN(NameInfo info, SyncWait(LookUpLive(*engine_, path_)));
    XEC_ASSIGN_OR_RETURN(const std::shared_ptr<ObjectReader> reader,
                         SyncWait(ObjectReader::Open(*engine_, std::move(info))));
    for (uint64_t at = 0; at < reader->size(); at += piece.size()) {
      const Result<uint64_t> got = SyncWait(reader->Read(at, piece));
      if (!got) return got.error();
    }
    return OkStatus();
  }

 private:
  ThreadPool pool_;
  TaskScope scope_;
  std::unique_ptr<Engine> engine_;
  const ObjectPath path_ = *ObjectPath::Parse("/o");
};

void Count(benchmark::State& state, const Status& status) {
  if (!status) state.SkipWithError(status.error().message.c_str());
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void WriteObject(benchmark::State& state) {
  const std::vector<std::byte> piece = RandomPiece();
  MemoryStore store(/*forgetful=*/true);
  Status status;
  for (auto _ : state) {
    if (status) status = store.Write(static_cast<uint64_t>(state.range(0)), piece);
  }
  Count(state, status);
}

void ReadObject(benchmark::State& state) {
  std::vector<std::byte> piece = RandomPiece();
  MemoryStore store;
  Status status = store.Write(static_cast<uint64_t>(state.range(0)), piece);
  for (auto _ : state) {
    if (status) status = store.ReadAll(piece);
  }
  Count(state, status);
}

BENCHMARK(WriteObject)->Arg(256 * kMiB)->MeasureProcessCPUTime();
BENCHMARK(ReadObject)->Arg(256 * kMiB)->MeasureProcessCPUTime();

}  // namespace
}  // namespace xec

BENCHMARK_MAIN();
