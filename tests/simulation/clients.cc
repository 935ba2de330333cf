// SPDX-License-Identifier: LGPL-3.0-or-later
// What the clients ask, and the cleaners' rounds.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/contains.hh"
#include "commit/engine/tidy_given_up.hh"
#include "world.hh"

namespace xec::sim {

uint64_t SizeOf(Content content) {
  constexpr uint64_t kSizes[] = {8,     100,   4095,  4096,  4097,  8192, 9000,
                                 12288, 16385, 24576, 40000, 65536, 99999};
  // Its archives are longer than what a reader takes from their end in any case (64 KiB).
  constexpr uint64_t kLarge = 280'000;
  if (Mix64(content + 1) % 32 == 0) return kLarge;
  return kSizes[Mix64(content) % std::size(kSizes)];
}

Settings SettingsOf(uint64_t size) {
  const uint64_t random = Mix64(size);
  Settings settings;
  if (random % 2 == 0) settings.mode = static_cast<uint16_t>(random >> 16 & 0777);
  if (random % 3 == 0) settings.mtime_ns = static_cast<int64_t>(random);
  settings.link = random % 5 == 0;
  return settings;
}

std::string BytesOf(Content content) {
  std::string bytes(SizeOf(content) + sizeof(uint64_t), '\0');
  Random random(content);
  for (size_t at = 0; at + sizeof content <= bytes.size(); at += sizeof content) {
    const uint64_t word = at == 0 ? content : random.Next();
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
  bytes.resize(SizeOf(content));
  return bytes;
}

void World::Think(size_t client) {
  if (clients_[client].rival) return;
  TimePoint when = executor_.Now() + Between(milliseconds(0), milliseconds(300));
  // Where removals are soon forgotten, removed names are often left alone for so long.
  const bool leave = traits_.forgetful && clients_[client].removed;
  if (executor_.Now() < emptied_until_) {
    if (random_.OneIn(6)) when = emptied_until_ + Between(seconds(0), seconds(20));
  } else if (random_.OneIn(leave ? 2 : 10)) {
    // All clients pause until the same quarter of an hour, so that they meet again.
    const Duration period = minutes(traits_.unhurried ? 40 : 15);
    const Duration past = (executor_.Now() - VirtualExecutor::kStart) % period;
    when += period - past;
  } else if (random_.OneIn(5)) {
    when += Between(seconds(0), seconds(20));
  } else if (Races()) {
    when = NextBout();
  }
  executor_.RunAt(when, [this, client] { Act(client); });
}

Op World::ChooseOp(size_t client) {
  const bool only_remove = executor_.Now() < emptied_until_ && clients_[client].writes;
  const bool directories = traits_.directories && clients_[client].writes && !only_remove;
  if (directories && random_.OneIn(3)) return ChooseDirectoryOp();
  if (traits_.kinds && clients_[client].writes && !only_remove && !kind_random_.OneIn(3))
    return ChooseKindOp();
  if (traits_.small && clients_[client].writes && !only_remove && !kind_random_.OneIn(5))
    return ChooseSmallOp(client);
  if (traits_.attributes && !only_remove && attribute_random_.Below(6) < (IsRenaming() ? 4 : 2))
    return ChooseAttributeOp(clients_[client].writes);
  Op op;
  op.parents = !traits_.directories || random_.OneIn(4);
  op.name = PickName();
  if (traits_.kinds && IsBoth(op.name.substr(0, op.name.rfind('/')))) op.parents = kind_random_.OneIn(2);
  constexpr OpKind kKinds[] = {OpKind::kPut, OpKind::kExclusivePut, OpKind::kRemove, OpKind::kRename,
                               OpKind::kRead};
  const auto& weights = traits_.op_weights;
  uint64_t dice = random_.Below(std::accumulate(weights.begin(), weights.end(), uint64_t{0}));
  size_t kind = 0;
  while (dice >= weights[kind]) dice -= weights[kind++];
  op.kind = clients_[client].writes ? kKinds[kind] : OpKind::kRead;
  if ((op.kind == OpKind::kRename && !options_.renames) || only_remove) op.kind = OpKind::kRemove;
  switch (op.kind) {
    case OpKind::kRead: {
      const uint64_t how = random_.Below(10);
      op.kind = how < 6 ? OpKind::kRead : how < 9 ? OpKind::kStat : OpKind::kList;
      if (op.kind == OpKind::kList) op.name = directories_[random_.Below(directories_.size())];
      break;
    }
    case OpKind::kPut:
    case OpKind::kExclusivePut:
      op.content = next_content_++;
      op.attributes = AttributesOfPut();
      break;
    case OpKind::kRemove:
      if (IsBoth(op.name) && only_remove && kind_random_.OneIn(2)) op.kind = OpKind::kRemoveDirectory;
      break;
    case OpKind::kRename:
      op.to = PickTarget(op.name);
      if (op.to.empty()) op.kind = OpKind::kRemove;
      break;
    default: break;
  }
  return op;
}

void World::Act(size_t client) {
  if (issued_ >= options_.operations) return;
  Gateway* const gateway = gateways_[client % kGateways].get();
  if (gateway == nullptr || !gateway->AnswersClients() || !KnowsList(*gateway)) return Think(client);
  Op op = ChooseOp(client);
  if (traits_.small && op.kind == OpKind::kExclusivePut) Challenge(op);
  Ask(client, gateway, std::move(op));
}

void World::Ask(size_t client, Gateway* gateway, Op op) {
  ++issued_;
  const size_t id = history_.Begin(std::move(op), moment_++);
  const bool either = history_.at(id).kind == OpKind::kRename && IsBoth(history_.at(id).name);
  if (history_.at(id).kind == OpKind::kRenameDirectory || either) BeginParts(id);
  if (either) HoldParts(id, true);
  Client& asking = clients_[client];
  asking.busy = true;
  asking.op = id;
  asking.gateway = gateway;
  asking.since = executor_.Now();
  asking.slept = gateway->slept;
  if (options_.trace_lines > 0)
    Say(fmt::format("c{}", client), fmt::format("asks g{}: {}", gateway->index, history_.at(id).ToString()));
  gateway->scope->Spawn(Perform(gateway, client, id));
  Watch(client, id, kLongestOperation);
}

// How long its operation has been running while its gateway was awake.
Duration World::Took(const Client& client) const {
  return executor_.Now() - client.since - (client.gateway->slept - client.slept);
}

// Who waits for ever is found although it is never answered.
void World::Watch(size_t client, size_t id, Duration wait) {
  executor_.RunAt(executor_.Now() + wait, [this, client, id] {
    const Client& asked = clients_[client];
    if (!asked.busy || asked.op != id || asked.gateway->dead) return;
    const Duration rest = kLongestOperation - Took(asked);
    if (rest <= Duration(0)) return Break(history_.at(id).ToString() + " does not end");
    Watch(client, id, rest);
  });
}

Task<void> World::Perform(Gateway* gateway, size_t client, size_t id) {
  const bool reads = history_.at(id).kind == OpKind::kRead;
  const Duration hold = reads && random_.OneIn(4) ? Between(seconds(1), seconds(40)) : Duration(0);
  Status status = co_await Do(gateway, id, hold);
  Finish(client, id, std::move(status));
}

// `hold`: of reads.
Task<Status> World::Do(Gateway* gateway, size_t id, Duration hold) {
  const Op op = history_.at(id);
  LayoutStore* const store = gateway->store.get();
  const Status in_force = gateway->engine->MembersInForce();
  if (!in_force) co_return in_force.error();
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kExclusivePut: co_return co_await Put(store, op);
    case OpKind::kRead: co_return co_await Read(gateway, id, op.name, hold);
    case OpKind::kRename:
      if (IsBoth(op.name)) co_return co_await RenameEither(gateway, id);
      [[fallthrough]];
    default: co_return co_await Other(store, id, op);
  }
}

Task<Status> World::Put(LayoutStore* store, Op op) {
  const std::string name = InStore(op.name);
  CreateOptions options;
  options.write.only_if.absent = op.kind == OpKind::kExclusivePut;
  options.write.attributes = AttributesText(op.attributes);
  options.write.settings = SettingsOf(SizeOf(op.content));
  options.make_parents = op.parents;
  Result<std::unique_ptr<ObjectWriter>> writer = co_await store->Create(name, std::move(options));
  if (!writer) co_return writer.error();
  const std::string bytes = BytesOf(op.content);
  const Status appended = co_await (*writer)->Append(AsBytes(std::string_view(bytes)));
  if (!appended) co_return appended.error();
  Result<Committed> committed = co_await (*writer)->Commit();
  if (!committed) co_return committed.error();
  co_return OkStatus();
}

// Has something been begun at the name whose end nobody was told? Whoever goes on with it much later does so
// with the version that was chosen at first, and the reader's grace may be over by that.
bool World::WasChangedLate(const std::string& name) const {
  size_t id = 0;
  return std::any_of(history_.ops().begin(), history_.ops().end(), [&](const Op& op) {
    const bool happened = !never_there_.contains(id++);
    const bool changes = op.kind < OpKind::kStat && happened;
    return changes && op.Open() && (op.to.empty() ? op.name : op.to) == name;
  });
}

Task<Status> World::Other(LayoutStore* store, size_t id, Op op) {
  const std::string name = InStore(op.name);
  const std::string to = op.to.empty() ? op.to : InStore(op.to);
  switch (op.kind) {
    case OpKind::kRemove: co_return co_await store->Remove(name);
    case OpKind::kRename:
    case OpKind::kRenameDirectory: co_return co_await store->Rename(name, to);
    case OpKind::kMakeDirectory: co_return co_await store->MakeDirectory(name, op.parents);
    case OpKind::kRemoveDirectory: co_return co_await store->RemoveDirectory(name);
    case OpKind::kList: co_return co_await List(store, id, op);
    case OpKind::kSetAttribute:
    case OpKind::kRemoveAttribute: co_return co_await ChangeAttribute(store, op);
    case OpKind::kGetAttributes: co_return co_await GetAttributes(store, id, op.name);
    default: break;
  }
  Result<ObjectInfo> info = co_await store->Stat(name);
  if (!info) co_return info.error();
  history_.at(id).size = info->size;
  history_.at(id).directory = info->directory;
  if (!info->directory) CheckSettings(op.name, info->size, info->settings);
  co_return OkStatus();
}

// What is told of an object has the settings that it was put with, whatever became of it since.
void World::CheckSettings(const std::string& name, uint64_t size, const Settings& told) {
  if (told == SettingsOf(size)) return;
  Break(fmt::format("{} of {} bytes was put with settings '{}', and has '{}'", name, size,
                    FormatSettings(SettingsOf(size)), FormatSettings(told)));
}

Task<Status> World::List(LayoutStore* store, size_t id, Op op) {
  const std::string directory = InStore(op.name);
  Result<std::vector<ListedName>> names = co_await store->List(directory);
  if (!names) co_return names.error();
  for (const ListedName& listed : *names) {
    const std::string name = op.name + "/" + FromStore(listed.name);
    history_.at(id).listed.insert(name);
    if (listed.directory) history_.at(id).listed_directories.insert(name);
    if (!listed.directory && Contains(names_, name)) CheckSettings(name, listed.size, listed.settings);
  }
  co_return OkStatus();
}

void World::Finish(size_t client, size_t id, Status status) {
  Op& op = history_.at(id);
  if (op.ended == kNever) op.ended = moment_++;
  if (!status) op.error = status.code();
  if (op.kind == OpKind::kRenameDirectory) EndParts(id, clients_[client].since);
  if (status && traits_.directories) RememberDirectories(op);
  if (Races()) RememberKinds(op);
  ++outcome_.answered;
  if (status) ++outcome_.succeeded;
  const Client& asked = clients_[client];
  const Duration took = Took(asked);
  if (options_.trace_lines > 0) {
    Say(fmt::format("c{}", client),
        fmt::format("is told: {}{} ({} ms)", op.ToString(), status ? "" : " - " + status.error().message,
                    std::chrono::duration_cast<milliseconds>(took).count()));
  }
  if (took > kLongestOperation)
    Break(fmt::format("{} took {} s", op.ToString(), std::chrono::duration_cast<seconds>(took).count()));
  if (status.has_value() ? false : status.code() == Code::kInternal)
    Break(fmt::format("{}: {}", op.ToString(), status.error().message));
  clients_[client].busy = false;
  clients_[client].removed = status && op.kind == OpKind::kRemove;
  // Somebody is in a hurry to have the space back, while others may still read what was there.
  const bool changed = status && op.kind < OpKind::kStat && !IsFarAhead(*asked.gateway);
  if (changed && random_.OneIn(12)) asked.gateway->scope->Spawn(Clean(asked.gateway));
  TidyGivenUp(*asked.gateway);
  Think(client);
}

// As a gateway's process does all the time.
void World::TidyGivenUp(Gateway& gateway) {
  if (gateway.engine->given_up_files().size() > 0) gateway.scope->Spawn(TidyGivenUpFiles(*gateway.engine));
}

Task<void> World::Clean(Gateway* gateway) {
  Say(fmt::format("g{}", gateway->index), "cleans");
  const Result<CleanReport> report = co_await gateway->store->Clean();
  Say(fmt::format("g{}", gateway->index),
      report ? fmt::format("has cleaned: removed {}, left {}", report->removed, report->left)
             : "cleaning ends: " + report.error().message);
  for (const ThinObject& object : report ? report->thin : std::vector<ThinObject>()) {
    co_await Repair(gateway, object.path.text());
  }
  if (traits_.rot) co_await RepairSome(gateway);
}

// Has anything happened since its last pass that may have left something? Most passes would find nothing.
bool World::MayFindSomething(size_t index) const {
  const bool slept = std::any_of(gateways_.begin(), gateways_.end(),
                                 [](const auto& gateway) { return gateway && gateway->process->asleep(); });
  return slept || cleaned_at_[index] != moment_;
}

void World::ScheduleCleaner(size_t index) {
  const bool eager = traits_.forgetful || random_.OneIn(2);
  executor_.RunAt(executor_.Now() + Between(seconds(10), minutes(eager ? 5 : 30)), [this, index] {
    if (at_rest_) return;
    Gateway* const gateway = gateways_[index].get();
    // Nothing is promised where a cleaner's clock is off by more than the horizon: it forgets what is still
    // under way.
    const bool may = gateway != nullptr && gateway->AnswersClients() && !IsFarAhead(*gateway);
    if (may && (MayFindSomething(index) || shape_random_.OneIn(8))) {
      cleaned_at_[index] = moment_;
      gateway->scope->Spawn(Clean(gateway));
    }
    ScheduleCleaner(index);
  });
}

}  // namespace xec::sim
