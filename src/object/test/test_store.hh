// SPDX-License-Identifier: LGPL-3.0-or-later
// A store on memory servers for the tests of this folder: every server counts its requests and fails on
// demand.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "commit/engine/names.hh"
#include "object/read/object_reader.hh"
#include "object/write/object_writer.hh"
#include "runtime/thread_pool.hh"
#include "server/decorators/counting_server.hh"
#include "server/decorators/fault_server.hh"
#include "server/kinds/memory_server.hh"

namespace xec {

// Stripes so small that short objects have several.
inline constexpr Geometry kSmall{4, 2, 8 * kKiB};

// The same bytes for the same size and seed.
std::string TestBytes(size_t size, uint64_t seed = 1);

// Real threads and real time: a machine that stalls must not look like slow servers to tests that count
// requests.
EngineOptions Patient();

class TestStore {
 public:
  struct Options {
    Geometry geometry{4, 2, 64 * kKiB};
    size_t servers = 0;  // 0: k + m + 2
    EngineOptions engine = Patient();
    uint64_t cache_bytes = 0;  // in place of the engine's: tests count what servers are asked for
    SyncPolicy sync = SyncPolicy::kCommit;
    size_t servers_of_host = 1;
    Layout layout = Layout::kNative;
  };

  explicit TestStore(Options options);

  ~TestStore();

  Engine& engine() { return *engine_; }
  MemoryServer& memory(size_t i) { return *memory_[i]; }
  FaultPlan& faults(size_t i) { return faults_[i]->plan(); }
  RequestCounts& counts() { return *counts_; }
  TaskScope& scope() { return scope_; }
  size_t server_count() const { return memory_.size(); }

  static ObjectPath Path(std::string_view text);

  Result<std::unique_ptr<ObjectWriter>> Start(const std::string& path, WriteOptions options = {});

  // Writes an object in pieces of `piece` bytes.
  Result<Committed> Put(const std::string& path, const std::string& bytes, WriteOptions options = {},
                        size_t piece = 100'003);

  Result<std::shared_ptr<ObjectReader>> OpenReader(const std::string& path);

  static Result<std::string> Read(ObjectReader& reader, uint64_t offset, size_t size);

  Result<std::string> Get(const std::string& path);

  // Waits for everything in the background.
  void Settle() { scope_.Drain(); }

  // Everything in the background has ended and given its memory back; a request may hold its bytes for a
  // moment after it was answered.
  bool BudgetReturned();

  // The files of an object on all servers: (server, path).
  std::vector<std::pair<size_t, std::string>> Archives(const std::string& path) const;

 private:
  ThreadPool pool_;
  TaskScope scope_;
  std::vector<std::shared_ptr<MemoryServer>> memory_;
  std::vector<std::shared_ptr<FaultServer>> faults_;
  std::shared_ptr<RequestCounts> counts_ = std::make_shared<RequestCounts>();
  std::unique_ptr<Engine> engine_;
};

}  // namespace xec
