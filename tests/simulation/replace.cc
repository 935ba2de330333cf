// SPDX-License-Identifier: LGPL-3.0-or-later
// Puts that replace one version only: of several that replace the same one wins, and whatever else is put
// meanwhile comes after it.
#include "world.hh"

namespace xec::sim {
namespace {

const std::string kName = "/r";  // at none of the names that clients use
constexpr uint64_t kLongestStopMs = 3'000;
constexpr uint64_t kSpreadMs = 60;
// Whoever was stopped thinks that servers are silent until it has asked them again.
constexpr Duration kUntilTrusted = minutes(1);

bool Promotes(const std::string& step) { return step.starts_with("promote"); }

}  // namespace

struct World::Replacement {
  bool conditional = false;
  std::optional<Result<Committed>> told;

  bool Done() const { return told && *told; }
  bool Open() const { return !told || (!*told && told->code() == Code::kUnknown); }
};

Task<void> World::Replace(Gateway* gateway, std::optional<Version> only, Duration after,
                          std::shared_ptr<Replacement> replacement) {
  OneShot<bool> begun;
  executor_.RunAt(executor_.Now() + after, [set = begun.Setter()] { set(true); });
  co_await begun;
  CreateOptions options;
  options.write.only_if.version = only;
  Result<std::unique_ptr<ObjectWriter>> writer = co_await gateway->store->Create(kName, std::move(options));
  if (!writer) {
    replacement->told = writer.error();
    co_return;
  }
  const Status appended = co_await (*writer)->Append(AsBytes(std::string_view("bytes")));
  if (!appended) {
    replacement->told = appended.error();
    co_return;
  }
  Result<Committed> committed = co_await (*writer)->Commit();
  replacement->told = std::move(committed);
}

void World::ReplaceAtOnce() {
  Say("----", "one version is replaced by several at a time");
  const auto first = std::make_shared<Replacement>();
  Await(0, [&](Gateway* gateway) { return Replace(gateway, std::nullopt, Duration(0), first); });
  if (!first->Done() || outcome_.broken) return;
  const Version version = (**first->told).version;
  std::vector<std::shared_ptr<Replacement>> all;
  const size_t count = 2 + replace_random_.Below(4);
  const size_t stopped = replace_random_.Below(kGateways);
  Stop stop;
  if (replace_random_.OneIn(2)) stop.before = Promotes;
  stop.requests = replace_random_.Below(40);
  stop.length = milliseconds(replace_random_.Below(kLongestStopMs));
  if (replace_random_.OneIn(2)) stops_[stopped] = stop;
  for (size_t i = 0; i < count; ++i) {
    Gateway* const gateway = gateways_[replace_random_.Below(kGateways)].get();
    const auto replacement = std::make_shared<Replacement>();
    replacement->conditional = !replace_random_.OneIn(4);
    const auto only = replacement->conditional ? std::optional(version) : std::nullopt;
    all.push_back(replacement);
    gateway->scope->Spawn(
        Replace(gateway, only, milliseconds(replace_random_.Below(kSpreadMs)), replacement));
  }
  const bool ended =
      RunUntil([&] { return std::all_of(all.begin(), all.end(), [](const auto& one) { return one->told; }); },
               kLongestOperation);
  stops_.fill(std::nullopt);
  if (!ended && !outcome_.broken) Break("one of several that replace a version does not end");
  LetBackgroundEnd();
  LetTimePass(kUntilTrusted);
  if (!outcome_.broken) JudgeReplacements(all, version);
  for (auto& gateway : gateways_) Wait(gateway->store->Remove(kName), *gateway);
}

void World::JudgeReplacements(const std::vector<std::shared_ptr<Replacement>>& all, Version replaced) {
  Version highest = replaced;
  bool open = false;
  for (const auto& one : all) {
    open = open || one->Open();
    if (!one->Done()) continue;
    const Version& version = (**one->told).version;
    highest = std::max(highest, version);
    for (const auto& other : all) {
      if (other == one || !one->conditional || !other->Done()) continue;
      if (other->conditional) return Break("two have replaced one version of " + kName);
      if ((**other->told).version < version)
        return Break(fmt::format("{} was replaced though another put came before", kName));
    }
  }
  const auto info = Wait(LookUp(*gateways_[0]->engine, PathOf(kName)), *gateways_[0]);
  if (!info || !*info) return;
  const Version& stands = (*info)->accepted.version;
  if (stands < highest || (!open && stands != highest))
    Break(fmt::format("{} is at rest not what the last of those that replaced it put", kName));
}

}  // namespace xec::sim
