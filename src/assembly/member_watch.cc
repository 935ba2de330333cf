// SPDX-License-Identifier: LGPL-3.0-or-later
// How a running process learns that its list of members is still the one in force, or is not any more.
#include <algorithm>

#include "assembly/store_process.hh"
#include "base/log.hh"
#include "commit/server_gather.hh"

namespace xec {

Task<std::vector<Result<StoreDescriptor>>> StoreProcess::ReadDescriptors() {
  ServerGather<Result<std::string>> gather(*engine_);
  for (const MemberIndex member : engine_->AllByHealth()) {
    gather.Start(member, ReadFile(engine_->MetadataCall(), engine_->server(member),
                                  std::string(kDescriptorPath), kDescriptorBytesMax));
  }
  std::vector<Result<StoreDescriptor>> shown;
  while (gather.pending() > 0 && (shown.size() < confirmations_ || gather.timely() > 0)) {
    auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    Result<StoreDescriptor> read = ParseDescriptor(**event.value);
    if (engine_->member_list().Says(read) != DescriptorSays::kNothing) shown.push_back(std::move(read));
  }
  co_return std::move(shown);
}

Task<void> StoreProcess::RefreshLoop() {
  MemberList& list = engine_->member_list();
  const Duration interval = configuration_.engine.descriptor_interval;
  Duration pause = interval;
  std::string problem;
  while (co_await background_.Pause(pause)) {
    const TimePoint asked = executor_.Now();
    const std::vector<Result<StoreDescriptor>> shown = co_await ReadDescriptors();
    const MemberList::Round round = list.Heard(asked, shown);
    // Servers that come back are to be used within seconds.
    pause = round == MemberList::Round::kTooFew ? std::min(interval, kRetryInterval) : interval;
    const Status in_force = list.InForce(executor_.Now());
    // Said once: the sentence for too few tells how long that has been so.
    if (!in_force && problem.empty()) Log(LogLevel::kError, "store", "{}", in_force.error().message);
    if (in_force && !problem.empty())
      Log(LogLevel::kInfo, "store", "the members of the store are confirmed again");
    problem = in_force ? "" : in_force.error().message;
  }
}

}  // namespace xec
