// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P10 at rest: what can be read, or is a directory, is found by listings from the root on.
#include "base/contains.hh"
#include "world.hh"

namespace xec::sim {
namespace {

Task<Status> Walk(Store* store, std::string directory, std::set<std::string>* found) {
  Result<std::vector<ListedName>> names = co_await store->List(directory);
  if (!names) co_return names.error();
  for (const ListedName& name : *names) {
    const std::string path = directory == "/" ? "/" + name.name : directory + "/" + name.name;
    found->insert(path);
    if (!name.directory) continue;
    const Status below = co_await Walk(store, path, found);
    if (!below) co_return below.error();
  }
  co_return OkStatus();
}

}  // namespace

// A name that is in the tree and does not live, or the other way round; empty: there is none.
std::string World::NotInTree(Gateway& gateway, const std::set<std::string>& names) {
  std::set<std::string> tree;
  const auto walked = Wait(Walk(gateway.store.get(), "/", &tree), gateway);
  if (!walked || outcome_.broken) return {};
  if (!*walked) return fmt::format("the tree cannot be listed: {}", walked->error().ToString());
  for (const std::string& name : names) {
    const auto info = Wait(LookUp(*gateway.engine, PathOf(name)), gateway);
    if (!info || !*info) return {};
    const bool listed = tree.contains(InStore(name));
    // Whoever has died over its commit was told nothing: what comes of it may come when nobody hears that
    // home.
    if (listed == (*info)->accepted.Live() || WasChangedLate(name)) continue;
    return fmt::format("{} {} the tree", name, listed ? "is gone, but in" : "lives, but is not in");
  }
  return {};
}

void World::CheckTree(Gateway& gateway) {
  std::set<std::string> names(names_.begin(), names_.end());
  names.insert(directories_.begin(), directories_.end());
  std::string problem = NotInTree(gateway, names);
  // Whoever looks brings to its end what somebody has left open who died: each look of these may.
  for (size_t again = 0; again < 2 * names.size() && !problem.empty() && !outcome_.broken; ++again)
    problem = NotInTree(gateway, names);
  if (!problem.empty() && !outcome_.broken) Break("at rest " + problem);
}

}  // namespace xec::sim
