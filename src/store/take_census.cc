// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/take_census.hh"

#include "store/object_walk.hh"

namespace xec {
namespace {

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
  for (const MemberIndex server : NoneToSpare(servers, stripe.data)) left.critical.insert(server);
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

Task<Result<Redundancy>> CountIn(LayoutStore& store, std::string path, bool deep) {
  Result<std::shared_ptr<ObjectReader>> reader = co_await store.OpenRead(std::move(path));
  if (!reader) co_return reader.error();
  Result<Redundancy> counted = co_await CountRedundancy(std::move(*reader), deep);
  co_return std::move(counted);
}

}  // namespace

Task<Result<Census>> TakeCensus(Engine& engine, LayoutStore& store, CensusOptions options) {
  Census census;
  ObjectWalk<Redundancy>::Plan plan;
  plan.ask = [&](std::string path) { return CountIn(store, std::move(path), options.deep); };
  plan.take = [&](const std::string& path, bool in_tree, Result<Redundancy> counted) {
    if (!in_tree) census.AddOutside(path);
    if (counted) {
      census.Add(path, std::move(*counted));
    } else {
      census.AddUncounted(path, counted.error());
    }
    return options.progress(census);
  };
  plan.unlisted = [&](const std::string& directory, const Error& error) {
    census.AddUnlisted(directory, error);
    return options.progress(census);
  };
  ObjectWalk<Redundancy> walk(engine, store, std::move(plan));
  const Status walked = co_await walk.Run();
  if (!walked) co_return walked.error();
  census.Sort();
  co_return std::move(census);
}

}  // namespace xec
