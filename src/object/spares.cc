// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/spares.hh"

#include <algorithm>

#include "base/contains.hh"
#include "placement/homes.hh"

namespace xec {
namespace {

// So many servers that hold no lane are asked for strays first. A rename puts up to 2t+1 other homes in
// front, members that join come in between, and manifests of an object differ by the archives that were
// re-created: together these mostly stay below the difference.
constexpr size_t kSparesSearchedMax = 24;
constexpr size_t kSparesUsedMax = 12;

// Without weights in an order that all processes share, and at all times.
std::vector<MemberIndex> Spares(const Engine& engine, const ObjectPath& path, const Manifest& manifest,
                                std::span<const double> weights = {}) {
  // Hosts make no difference here: their labels may change.
  std::vector<MemberIndex> spares =
      PlacementOrder(engine.descriptor(), engine.Homes(path), manifest.object_id, weights);
  std::erase_if(spares,
                [&](MemberIndex spare) { return Contains(manifest.servers, engine.server_id(spare)); });
  return spares;
}

std::vector<MemberIndex> First(std::vector<MemberIndex> spares, size_t count) {
  spares.resize(std::min(spares.size(), count));
  return spares;
}

std::vector<MemberIndex> FirstAndEmptied(const Engine& engine, const ObjectPath& path,
                                         const Manifest& manifest, size_t count) {
  std::vector<MemberIndex> spares = First(Spares(engine, path, manifest), count);
  // They get no archives, but hold some until these have been moved.
  const std::vector<Member>& members = engine.descriptor().members;
  for (size_t i = 0; i < members.size(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    const bool is_spare = IsBeingEmptied(members[i].role) && !Contains(manifest.servers, members[i].id);
    if (is_spare && !Contains(spares, member)) spares.push_back(member);
  }
  return spares;
}

}  // namespace

std::vector<MemberIndex> SparesSearched(const Engine& engine, const ObjectPath& path,
                                        const Manifest& manifest) {
  return FirstAndEmptied(engine, path, manifest, kSparesSearchedMax);
}

std::vector<MemberIndex> SparesSearchedFirst(const Engine& engine, const ObjectPath& path,
                                             const Manifest& manifest) {
  return FirstAndEmptied(engine, path, manifest, kSparesUsedMax);
}

std::vector<MemberIndex> SparesSearchedLast(const Engine& engine, const ObjectPath& path,
                                            const Manifest& manifest) {
  const std::vector<MemberIndex> spares = Spares(engine, path, manifest);
  return {spares.begin() + static_cast<std::ptrdiff_t>(std::min(spares.size(), kSparesSearchedMax)),
          spares.end()};
}

std::vector<MemberIndex> SparesFor(const Engine& engine, const ObjectPath& path, const Manifest& manifest,
                                   const std::vector<MemberIndex>& taken, size_t per_host_max) {
  const KnownSpace::Room room = engine.Room();
  const std::vector<MemberIndex> found_first = First(Spares(engine, path, manifest), kSparesUsedMax);
  std::vector<MemberIndex> spares = Spares(engine, path, manifest, room.weights);
  std::erase_if(spares, [&](MemberIndex spare) { return Contains(taken, spare) || room.IsFull(spare); });
  std::stable_partition(spares.begin(), spares.end(),
                        [&](MemberIndex spare) { return Contains(found_first, spare); });
  const std::vector<Member>& members = engine.descriptor().members;
  std::stable_partition(spares.begin(), spares.end(), [&](MemberIndex spare) {
    const auto beside = std::count_if(taken.begin(), taken.end(), [&](MemberIndex member) {
      return members[member].host == members[spare].host;
    });
    return static_cast<size_t>(beside) < per_host_max;
  });
  return engine.ByHealth(std::move(spares));
}

}  // namespace xec
