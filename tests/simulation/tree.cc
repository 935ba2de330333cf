// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P10 at rest: what can be read, or is a directory, is found by listings from the root on.
#include "base/contains.hh"
#include "runtime/status_of.hh"
#include "world.hh"

namespace xec::sim {
namespace {

Task<Status> Walk(LayoutStore* store, std::string directory, std::set<std::string>* found) {
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

// At none of the names that clients use.
const std::string kDirectory = "/t";
const std::string kMoved = "/u";
const std::string kObject = "/x";
// Longer than a gateway remembers a directory.
constexpr uint64_t kLongestStopMs = 12'000;
// Whoever was stopped thinks that servers are silent until it has asked them again.
constexpr Duration kUntilTrusted = minutes(1);

Task<Status> PutSmall(LayoutStore* store, std::string name) {
  Result<std::unique_ptr<ObjectWriter>> writer = co_await store->Create(name, {});
  if (!writer) co_return writer.error();
  const Status appended = co_await (*writer)->Append(AsBytes(std::string_view("small")));
  if (!appended) co_return appended.error();
  const Result<Committed> committed = co_await (*writer)->Commit();
  if (!committed) co_return committed.error();
  co_return OkStatus();
}

std::shared_ptr<std::optional<Status>> Told() { return std::make_shared<std::optional<Status>>(); }

Task<void> Keep(Task<Status> task, std::shared_ptr<std::optional<Status>> told) { *told = co_await task; }

bool Promotes(const std::string& step) { return step == "promote"; }

}  // namespace

// One gateway puts something into a directory that it knows, or is stopped while it does, and the other one
// removes or renames that directory: before, or meanwhile.
void World::PutBesideRemoval() {
  const size_t index = tree_random_.Below(kGateways);
  Gateway& other = *gateways_[1 - index];
  Say("----", "something is put into a directory that goes");
  const std::string object = kDirectory + kObject;
  Await(index, [&](Gateway* gateway) { return Keep(PutSmall(gateway->store.get(), object), Told()); });
  Await(index, [&](Gateway* gateway) { return Keep(StatusOf(gateway->store->Remove(object)), Told()); });
  const bool renames = tree_random_.OneIn(2);
  const auto goes = [&] {
    return renames ? Wait(StatusOf(other.store->Rename(kDirectory, kMoved)), other)
                   : Wait(other.store->RemoveDirectory(kDirectory), other);
  };
  const bool meanwhile = tree_random_.OneIn(2);
  if (!meanwhile) {
    goes();
    LetTimePass(milliseconds(tree_random_.Below(kLongestStopMs)));
  } else {
    Stop stop;
    stop.before = Promotes;
    if (tree_random_.OneIn(3)) stop.before = nullptr;
    stop.requests = tree_random_.Below(20);
    stop.length = milliseconds(tree_random_.Below(kLongestStopMs));
    stops_[index] = stop;
  }
  const auto put = Told();
  Await(index, [&](Gateway* gateway) { return Keep(PutSmall(gateway->store.get(), object), put); });
  if (meanwhile) goes();
  RunUntil([&] { return put->has_value(); }, kLongestOperation);
  stops_.fill(std::nullopt);
  LetBackgroundEnd();
  LetTimePass(kUntilTrusted);
  if (outcome_.broken) return;
  const std::set<std::string> names = {kDirectory, object, kMoved, kMoved + kObject};
  for (auto& gateway : gateways_) {
    const std::string problem = NotInTree(*gateway, names);
    if (!problem.empty() && !outcome_.broken) return Break("at rest " + problem);
  }
  for (const std::string& top : {kDirectory, kMoved}) {
    Wait(other.store->Remove(top + kObject), other);
    Wait(other.store->RemoveDirectory(top), other);
  }
}

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

// As `xec repair` does: what somebody has died over came after the directory above it was removed.
void World::BringBackLate(Gateway& gateway) {
  std::set<std::string> tree;
  const auto walked = Wait(Walk(gateway.store.get(), "/", &tree), gateway);
  if (!walked || !*walked || outcome_.broken) return;
  for (const std::string& name : names_) {
    const std::string parent = name.substr(0, name.rfind('/'));
    if (parent.empty() || tree.contains(InStore(name)) || !WasChangedLate(name)) continue;
    const auto info = Wait(LookUp(*gateway.engine, PathOf(name)), gateway);
    if (!info || outcome_.broken) return;
    if (!*info || !(*info)->accepted.Live()) continue;
    Op make;
    make.kind = OpKind::kMakeDirectory;
    make.name = parent;
    make.parents = true;
    DoAtRest(gateway, make);
  }
}

}  // namespace xec::sim
