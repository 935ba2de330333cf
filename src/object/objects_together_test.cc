// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P8 for data: several clients upload, read, rename and remove the same objects when servers stop, no
// more than the store tolerates. Nobody waits for the deadline of a request; what is read is what was put.
#include <set>

#include "base/random.hh"
#include "commit/pause.hh"
#include "commit/rename.hh"
#include "object/test_object.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Gateway = TestWorld::Gateway;

constexpr uint64_t kSeeds = 600;
constexpr size_t kClients = 4;
constexpr size_t kStepsMax = 2'000'000;
constexpr uint64_t kSizeMax = 1'200'000;  // a few stripes
// Shorter than the deadline of any request, which is 10 s. Servers may be found late one after the other, as
// archives are sealed.
constexpr Duration kLongest = 9s;
constexpr Duration kUntilFoundLate = 3s;

struct Told {
  std::string what;
  std::optional<Status> status;
  TimePoint begun;
  TimePoint ended;
};

class UploadsAtOnce {
 public:
  explicit UploadsAtOnce(const TestWorld::Options& options)
      : random_(options.seed), world_(options), gateways_{&world_.NewGateway(), &world_.NewGateway()} {}

  void Run() {
    for (const char* name : {"/d/a", "/d/b"}) {
      if (Below(2) == 0) continue;
      const std::string content = NewContent();
      PutObject(world_, *gateways_[0]->engine, TestWorld::Path(name), content);
    }
    ServersSuffer();
    std::vector<Told> told(kClients);
    for (Told& one : told) scope_.Spawn(Work(one));
    const auto ended = [&] {
      return std::all_of(told.begin(), told.end(), [](const Told& one) { return one.status.has_value(); });
    };
    ASSERT_TRUE(world_.executor.RunUntil(ended, kStepsMax)) << world_.options.seed;
    for (const Told& one : told) Check(one);
    for (Gateway* gateway : gateways_) gateway->Kill();
  }

 private:
  uint64_t Below(uint64_t limit) { return random_.Next() % limit; }
  ObjectPath AnyName() { return TestWorld::Path(Below(2) == 0 ? "/d/a" : "/d/b"); }

  // No two of the same size, each of one letter.
  std::string NewContent() {
    const uint64_t size_max = Below(2) == 0 ? kSizeMax : 1'000;  // small ones are on few servers
    std::string content(Below(size_max), static_cast<char>('a' + contents_.size()));
    contents_.insert(content);
    return content;
  }

  // Some stop, all others are slow now and then, but not so slow that they seem stopped.
  void ServersSuffer() {
    const uint64_t seldom = 2 + Below(6);
    const Duration delay = milliseconds(5 + Below(45));
    for (Gateway* gateway : gateways_) {
      for (const auto& fault : gateway->faults)
        fault->plan().Add({.kind = FaultKind::kDelay, .one_in = seldom, .delay = delay});
    }
    for (uint32_t i = 0; i < world_.options.tolerance; ++i) {
      const size_t server = Below(world_.memory.size());
      const auto stop = [this, server] {
        for (Gateway* gateway : gateways_) {
          gateway->faults[server]->plan().Clear();
          gateway->faults[server]->plan().Add({.kind = FaultKind::kHang});
        }
      };
      world_.executor.RunAt(world_.executor.Now() + milliseconds(Below(800)), stop);
    }
  }

  Task<void> Work(Told& told) {
    Gateway& gateway = *gateways_[Below(gateways_.size())];
    Engine& engine = *gateway.engine;
    co_await Pause(engine, milliseconds(Below(300)));
    told.begun = world_.executor.Now();
    const uint64_t which = Below(6);
    const ObjectPath path = AnyName();
    Status status;
    if (which < 2) {
      told.what = fmt::format("upload {}", path.text());
      status = co_await Upload(engine, path, NewContent());
    } else if (which < 4) {
      told.what = fmt::format("read {}", path.text());
      status = co_await ReadAll(engine, path);
    } else if (which == 4) {
      told.what = fmt::format("remove {}", path.text());
      status = co_await RemoveObject(engine, path);
    } else {
      const ObjectPath to = AnyName();
      told.what = fmt::format("rename {} to {}", path.text(), to.text());
      status = co_await RenameObject(engine, path, to);
    }
    told.ended = world_.executor.Now();
    told.status = std::move(status);
  }

  static Task<Status> Upload(Engine& engine, ObjectPath path, std::string content) {
    auto writer = co_await ObjectWriter::Start(engine, path, {});
    if (!writer) co_return writer.error();
    const auto appended = co_await (*writer)->Append(AsBytes(content));
    if (!appended) co_return appended.error();
    const auto committed = co_await (*writer)->Commit();
    co_return committed ? OkStatus() : Status(committed.error());
  }

  Task<Status> ReadAll(Engine& engine, ObjectPath path) {
    Result<NameInfo> info = co_await LookUpLive(engine, path);
    if (!info) co_return info.error();
    auto reader = co_await ObjectReader::Open(engine, std::move(*info));
    if (!reader) co_return reader.error();
    std::string content((*reader)->size(), '?');
    const Result<uint64_t> read = co_await (*reader)->Read(0, std::as_writable_bytes(std::span(content)));
    if (!read) co_return read.error();
    EXPECT_TRUE(contents_.contains(content)) << "seed " << world_.options.seed << ": " << path.text();
    co_return OkStatus();
  }

  void Check(const Told& told) {
    const std::string when = fmt::format("seed {}, {}: {}", world_.options.seed, told.what,
                                         *told.status ? "ok" : told.status->error().message);
    EXPECT_LE(told.ended - told.begun, kLongest + (world_.options.tolerance - 1) * kUntilFoundLate) << when;
    if (*told.status) return;
    const Code code = told.status->code();
    EXPECT_TRUE(code == Code::kNotFound || code == Code::kConflict) << when;
  }

  Random random_;
  TestWorld world_;
  TaskScope scope_;
  std::vector<Gateway*> gateways_;
  std::set<std::string> contents_;
};

class ObjectsTogetherTest : public ToleranceTest {};

INSTANTIATE_TEST_SUITE_P(Tolerance, ObjectsTogetherTest, ::testing::Values(1, 2));

TEST_P(ObjectsTogetherTest, NobodyWaitsForServersThatStop) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) UploadsAtOnce(OptionsOf(seed)).Run();
}

}  // namespace
}  // namespace xec
