// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P8 for data: several clients upload, read, rename and remove the same objects when servers stop, no
// more than the store tolerates. Nobody waits for the deadline of a request; what is read is what was put.
#include <set>

#include "commit/rename/rename.hh"
#include "commit/test/test_clients.hh"
#include "object/test/test_object.hh"
#include "runtime/status_of.hh"

namespace xec {
namespace {

using namespace std::chrono_literals;
using Gateway = TestWorld::Gateway;

constexpr uint64_t kSeeds = 600;
constexpr uint64_t kSizeMax = 1'200'000;  // a few stripes
// Shorter than the deadline of any request, which is 10 s. Servers may be found late one after the other, as
// archives are sealed.
constexpr Duration kLongest = 9s;
constexpr Duration kUntilFoundLate = 3s;

class UploadsAtOnce final : public ClientsAtOnce {
 public:
  explicit UploadsAtOnce(const TestWorld::Options& options)
      : ClientsAtOnce(options, {.delay_max = 150ms,
                                .stop_within = 800ms,
                                .longest = kLongest + (options.tolerance - 1) * kUntilFoundLate}) {}

 private:
  void Prepare() override {
    for (const char* name : {"/d/a", "/d/b"}) {
      if (Below(2) == 0) continue;
      PutObject(world_, *gateways_[0]->engine, TestWorld::Path(name), NewContent());
    }
  }

  // Each of a letter of its own.
  std::string NewContent() {
    const uint64_t size_max = Below(2) == 0 ? kSizeMax : 1'000;  // small ones are on few servers
    std::string content(Below(size_max), static_cast<char>('a' + contents_.size()));
    contents_.insert(content);
    return content;
  }

  Task<Status> Act(Gateway& gateway, std::string& what) override {
    Engine& engine = *gateway.engine;
    const uint64_t which = Below(6);
    const ObjectPath path = AnyName();
    if (which < 2) {
      what = fmt::format("upload {}", path.text());
      return Upload(engine, path, NewContent());
    }
    if (which < 4) {
      what = fmt::format("read {}", path.text());
      return ReadAll(engine, path);
    }
    if (which == 4) {
      what = fmt::format("remove {}", path.text());
      return StatusOf(RemoveObject(engine, path));
    }
    const ObjectPath to = AnyName();
    what = fmt::format("rename {} to {}", path.text(), to.text());
    return StatusOf(RenameObject(engine, path, to));
  }

  bool IsFair(Code code, const std::string&) const override {
    return code == Code::kNotFound || code == Code::kConflict;
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

  std::set<std::string> contents_;
};

class ObjectsTogetherTest : public ToleranceTest {};

INSTANTIATE_TEST_SUITE_P(Tolerance, ObjectsTogetherTest, ::testing::Values(1, 2));

TEST_P(ObjectsTogetherTest, NobodyWaitsForServersThatStop) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) UploadsAtOnce(OptionsOf(seed)).Run();
}

}  // namespace
}  // namespace xec
