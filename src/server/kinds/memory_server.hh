// SPDX-License-Identifier: LGPL-3.0-or-later
// MemoryServer: a data server in memory for tests and the simulator. Each request travels for a while,
// takes effect atomically, and its answer travels back; the latencies come from an injected function. It
// can lose power, be wiped, go back to an older state, and be away.
//
// With a ThreadPool it is thread-safe; with a VirtualExecutor it is deterministic.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "server/forwarding.hh"
#include "server/kinds/memory_tree.hh"

namespace xec {

struct MemoryServerOptions {
  uint64_t capacity_bytes = uint64_t{1} << 40;
  // How long one leg of a request takes (called twice: there and back). Empty: no time at all. Called from
  // any thread that starts a request, and from the executor's.
  std::function<Duration(Operation)> latency = {};
};

class MemoryServer final : public ForwardingServer<MemoryServer> {
 public:
  // Requests take effect on `executor`, which outlives the server and whatever it still has in flight.
  MemoryServer(std::string name, Executor& executor, MemoryServerOptions options = {});
  ~MemoryServer() override;

  // The same server as seen by one client process: answers run on `client`, effects still on the server's
  // executor. So a killed VirtualProcess hears nothing more, but what it has sent still happens. `client`
  // must outlive what is in flight: kill a process, keep the object.
  DataServerPtr ViewFor(Executor& client);

  // The faults. What was open before Crash, Restart, Wipe or Restore answers kUnavailable ever after, and
  // so do requests that were on their way (their effect does not happen).
  void Crash(uint64_t seed);  // power cut: what was not synced may be lost (MemoryTree::LoseUnsynced)
  void Restart();             // the process restarts, nothing is lost
  void Wipe();                // the disk is replaced by an empty one
  void SetDown(bool down);    // while down, every request answers kUnavailable without effect
  bool down() const;

  // A state to return to: the server is then stale.
  struct Snapshot;
  std::shared_ptr<const Snapshot> Take() const;
  void Restore(const std::shared_ptr<const Snapshot>& snapshot);

  // Looks inside, without a request: sizes of all files by path; one file's bytes.
  std::map<std::string, uint64_t> Files() const;
  std::optional<std::string> Content(const std::string& path) const;
  // Replaces a file's bytes behind the back of everybody (bit rot, truncation). False when it is not there.
  bool Tamper(const std::string& path, const std::function<void(std::string&)>& change);
  // From now on reads of that byte fail, as of a sector that the disk cannot read; what is written anew lies
  // elsewhere. False when there is no such file.
  bool SpoilSector(const std::string& path, BadSector sector);
  uint64_t used_bytes() const;
  void SetCapacity(uint64_t bytes);

  const std::string& name() const override;

  template <typename T, typename Call>
  void Forward(const Request&, Call call, Done<T> done) {
    call(*view_, std::move(done));
  }

 private:
  class Machine;
  class File;
  class View;

  const std::shared_ptr<Machine> machine_;
  const DataServerPtr view_;  // for requests to this object itself
};

}  // namespace xec
