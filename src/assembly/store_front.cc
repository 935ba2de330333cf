// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/store_front.hh"

#include "base/random.hh"
#include "base/text.hh"

namespace xec {
namespace {

// What gateways keep up to date by themselves, other processes ask for when they need it.
constexpr Duration kHeardLongAgo = std::chrono::minutes(1);

}  // namespace

StoreFront::StoreFront(const Configuration& configuration, const OpenOptions& options, Executor& executor,
                       Store& behind, Hear hear)
    : configuration_(configuration),
      options_(options),
      executor_(executor),
      hear_(std::move(hear)),
      space_(configuration.groups, fmt::format("{}@{}", options.process, Hex(SystemSeed(), 16))),
      counted_(behind, space_, [this] { return Refresh(); }, [this] { return executor_.WallNow(); }) {}

Status StoreFront::Open() {
  if (configuration_.audit.empty() || configuration_.audit == kNoFile) return OkStatus();
  audit_ = std::make_unique<AuditLog>(
      configuration_.audit,
      AuditLog::Options{.process = options_.process, .wall_ms = [this] { return executor_.WallNow(); }});
  if (options_.background) XEC_TRY(audit_->Open());
  audited_.emplace(counted_, *audit_);
  return OkStatus();
}

Task<void> StoreFront::Refresh() {
  const TimePoint heard = space_.heard_at();
  const bool known = heard != TimePoint() && executor_.Now() - heard < kHeardLongAgo;
  if (!known) co_await hear_(space_);
}

}  // namespace xec
