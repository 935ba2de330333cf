// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/take_census.hh"

#include "runtime/gather.hh"

namespace xec {
namespace {

// A census waits for servers most of the time; this keeps them busy without being in anybody's way.
constexpr size_t kObjectsAtOnce = 8;

// One stripe while its chunks are reported.
struct StripeCount {
  std::map<uint32_t, MemberIndex> good;  // server of each good chunk
  size_t data = 0;                // data chunks that have bytes
  bool away = false;
  std::string problem;
};

void Take(Redundancy& left, const StripeCount& stripe) {
  std::vector<MemberIndex> servers;
  for (const auto& [chunk, server] : stripe.good) servers.push_back(server);
  const int survives = LossesSurvived(std::move(servers), stripe.data);
  left.away = left.away || stripe.away;
  if (survives >= left.survives) return;
  left.survives = survives;
  left.problem = stripe.problem;
}

}  // namespace

Task<Result<Redundancy>> CountRedundancy(std::shared_ptr<ObjectReader> reader, bool deep) {
  Result<Manifest> manifest = co_await reader->GetManifest();
  if (!manifest) co_return manifest.error();
  Redundancy left;
  left.geometry = manifest->geometry;
  left.bytes = reader->size();
  left.survives = static_cast<int>(left.geometry.parity_chunks);
  // A deep look tells findings about whole archives behind all stripes, so all stripes are kept.
  std::map<uint64_t, StripeCount> stripes;
  const auto count = [&](const ChunkReport& chunk) {
    StripeCount& stripe = stripes[chunk.stripe];
    if (chunk.health == ChunkHealth::kGood) {
      stripe.good.emplace(chunk.chunk, chunk.server);
    } else {
      // The last chunk of an archive that turns out to be damaged at its end was good before.
      stripe.good.erase(chunk.chunk);
      stripe.away = stripe.away || chunk.health == ChunkHealth::kUnavailable;
      if (stripe.problem.empty()) stripe.problem = chunk.problem;
    }
  };
  Status looked;
  if (deep) {
    looked = co_await reader->Verify(count);
  } else {
    looked = co_await reader->Locate(count);
  }
  if (!looked) co_return looked.error();
  const uint32_t data = left.geometry.data_chunks;
  for (auto& [number, stripe] : stripes) {
    for (uint32_t chunk = 0; chunk < data; ++chunk) {
      if (manifest->Stripes().ChunkBytes(number, chunk) > 0) ++stripe.data;
    }
    Take(left, stripe);
  }
  co_return std::move(left);
}

namespace {

class CensusTaker {
 public:
  CensusTaker(Engine& engine, LayoutStore& store, CensusOptions options)
      : store_(store), options_(std::move(options)), gather_(engine.scope(), engine.executor()) {}

  Task<Result<Census>> Run() {
    Status listed = co_await Directory("/", true);
    while (gather_.pending() > 0) co_await TakeNext();
    if (!listed) co_return listed.error();
    census_.Sort();
    co_return std::move(census_);
  }

 private:
  using Counted = Result<Redundancy>;

  static Task<Counted> Count(LayoutStore& store, std::string path, bool deep) {
    Result<std::shared_ptr<ObjectReader>> reader = co_await store.OpenRead(std::move(path));
    if (!reader) co_return reader.error();
    Counted counted = co_await CountRedundancy(std::move(*reader), deep);
    co_return std::move(counted);
  }

  Task<void> TakeNext() {
    Gather<Counted>::Event event = co_await gather_.Next();
    const std::string path = std::move(paths_.at(event.tag));
    paths_.erase(event.tag);
    Counted& counted = *event.value;
    if (counted) {
      census_.Add(path, std::move(*counted));
    } else if (counted.code() != Code::kNotFound) {  // that: removed meanwhile
      census_.AddUncounted(path, counted.error());
    }
    stopped_ = stopped_ || !options_.progress(census_);
  }

  Status Stopped() const {
    if (stopped_) return Fail(Code::kCancelled, "interrupted");
    return OkStatus();
  }

  // `in_tree`: listings come to it.
  Task<Status> Directory(std::string directory, bool in_tree) {
    Result<StoredNames> names = co_await store_.ListStored(directory);
    if (!names && names.code() == Code::kNotFound) co_return OkStatus();
    if (!names && names.code() == Code::kCancelled) co_return names.error();
    if (!names) {
      census_.AddUnlisted(directory, names.error());
      stopped_ = stopped_ || !options_.progress(census_);
      co_return Stopped();
    }
    for (const ListedName& name : names->names) {
      std::string path = (directory == "/" ? "" : directory) + "/" + name.name;
      if (name.directory) {
        Status below = co_await Directory(std::move(path), in_tree);
        if (!below) co_return std::move(below);
        continue;
      }
      while (gather_.pending() >= kObjectsAtOnce) co_await TakeNext();
      const Status stopped = Stopped();
      if (!stopped) co_return stopped.error();
      if (!in_tree) census_.AddOutside(path);
      gather_.Start(next_, Count(store_, path, options_.deep));
      paths_.emplace(next_++, std::move(path));
    }
    for (std::string& gone : names->gone) {
      Status below = co_await Directory(std::move(gone), false);
      if (!below) co_return std::move(below);
    }
    co_return OkStatus();
  }

  LayoutStore& store_;
  const CensusOptions options_;
  Gather<Counted> gather_;
  std::map<size_t, std::string> paths_;  // of those under way
  size_t next_ = 0;
  bool stopped_ = false;
  Census census_;
};

}  // namespace

Task<Result<Census>> TakeCensus(Engine& engine, LayoutStore& store, CensusOptions options) {
  CensusTaker taker(engine, store, std::move(options));
  Result<Census> census = co_await taker.Run();
  co_return std::move(census);
}

}  // namespace xec
