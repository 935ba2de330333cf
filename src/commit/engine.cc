// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/engine.hh"

#include "base/text.hh"
#include "server/missing_server.hh"

namespace xec {

Engine::Engine(StoreDescriptor descriptor, std::vector<DataServerPtr> servers, Executor& executor,
               TaskScope& scope, uint64_t seed, EngineOptions options)
    : descriptor_(std::move(descriptor)),
      options_(options),
      servers_(std::move(servers)),
      executor_(executor),
      scope_(scope),
      budget_(options.memory_bytes, executor),
      random_(seed),
      clock_(static_cast<uint32_t>(Mix64(seed))) {
  XEC_CHECK(servers_.size() == descriptor_.members.size());
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (!servers_[i]) servers_[i] = MakeMissingServer(descriptor_.members[i].id, executor_);
  }
}

std::optional<MemberIndex> Engine::FindMember(std::string_view id) const {
  for (size_t i = 0; i < descriptor_.members.size(); ++i) {
    if (descriptor_.members[i].id == id) return static_cast<MemberIndex>(i);
  }
  return std::nullopt;
}

Result<Version> Engine::NextVersion(const std::optional<Version>& above) {
  return clock_.Next(executor_.WallNow(), above);
}

std::string Engine::NewObjectId() {
  std::lock_guard lock(random_mutex_);
  const uint64_t high = random_.Next();
  const uint64_t low = random_.Next();
  return Hex(high, 16) + Hex(low & 0xffffffff, 8);
}

std::string Engine::NewNonce() {
  std::lock_guard lock(random_mutex_);
  return Hex(random_.Next() & 0xffffffff, 8);
}

}  // namespace xec
