// SPDX-License-Identifier: LGPL-3.0-or-later
// A world of memory servers on a virtual clock, with gateways that can be killed at any step, for the tests
// of this folder. Archives are sealed by hand: their content is a manifest only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "archive/manifest.hh"
#include "base/contains.hh"
#include "commit/clean/clean_name.hh"
#include "commit/clean/cleaner.hh"
#include "commit/engine/access.hh"
#include "commit/engine/names.hh"
#include "commit/engine/tidy_given_up.hh"
#include "commit/programs/put.hh"
#include "commit/rename/rename.hh"
#include "commit/rename/rename_directory.hh"
#include "runtime/virtual_executor.hh"
#include "server/decorators/counting_server.hh"
#include "server/decorators/fault_server.hh"
#include "server/kinds/memory_server.hh"

namespace xec {

struct TestWorldOptions {
  uint64_t seed = 1;
  size_t servers = 6;
  uint32_t tolerance = 1;
  EngineOptions engine = {};
};

class TestWorld {
 public:
  using Options = TestWorldOptions;

  // One gateway process.
  struct Gateway {
    Gateway(TestWorld& world, uint64_t seed, const EngineOptions& options);
    ~Gateway();
    void Kill();

    VirtualProcess process;
    TaskScope scope;
    std::vector<std::shared_ptr<FaultServer>> faults;
    std::shared_ptr<RequestCounts> counts = std::make_shared<RequestCounts>();
    std::unique_ptr<Engine> engine;
  };

  explicit TestWorld(const Options& world_options);
  ~TestWorld();

  static ObjectPath Path(std::string_view text);

  // A started gateway; it lives until the world ends.
  Gateway& NewGateway() { return NewGateway(options.engine); }
  Gateway& NewGateway(const EngineOptions& engine);

  template <typename T>
  T Run(Task<T> task) {
    std::optional<T> result = executor.RunTask(std::move(task));
    XEC_CHECK(result.has_value(), "an operation does not end");
    return std::move(*result);
  }

  void Pass(Duration time) { executor.RunUntilTime(executor.Now() + time); }

  // The servers of a new object: the homes first.
  std::vector<MemberIndex> Placement(const ObjectPath& path) const;

  // Seals one archive by hand.
  Status Seal(Gateway& gateway, const ObjectPath& path, MemberIndex server, const State& seal,
              std::optional<uint32_t> lane = std::nullopt);
  Task<Status> SealTask(Gateway& gateway, const ObjectPath& path, MemberIndex server, const State& seal,
                        std::optional<uint32_t> lane = std::nullopt);

  // Puts an object with one archive on every server of its placement; those in `without` do not get theirs.
  Result<Version> Put(Gateway& gateway, const std::string& name, std::vector<MemberIndex> without = {});

  // Of a put for which nothing is sealed yet.
  Task<Result<PutRequest>> StartPut(Gateway& gateway, ObjectPath path, bool exclusive);

  // Puts an object with one archive on every server of its placement that takes one.
  Task<Status> PutOn(Gateway& gateway, ObjectPath path, bool exclusive);

  Accepted StateOf(Gateway& gateway, const std::string& name);
  bool Lives(Gateway& gateway, const std::string& name) { return StateOf(gateway, name).Live(); }

  // Cleans until nothing is left to do.
  void Clean(Gateway& gateway);

  // As the loop of a gateway, until it has nothing left to remove (true) or `at_most` has passed.
  bool Tidy(Gateway& gateway, Duration at_most);

  // The entries, marks included, of the object directory of a name on all servers.
  std::vector<std::string> EntriesOf(Gateway& gateway, const std::string& name);

  const Options options;
  VirtualExecutor executor;
  StoreDescriptor descriptor;
  std::vector<std::shared_ptr<MemoryServer>> memory;
  std::vector<std::unique_ptr<Gateway>> gateways;

 private:
  Random random_{7};
};

// The parameter is the tolerance t of the worlds.
class ToleranceTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  static TestWorld::Options OptionsOf(uint64_t seed) {
    TestWorld::Options options;
    options.seed = seed;
    options.tolerance = GetParam();
    options.servers = 3 + 2 * options.tolerance;
    return options;
  }
};

}  // namespace xec
