// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/clean_crowded.hh"

#include "commit/clean/clean_name.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

constexpr size_t kCrowdedAtOnceMax = 4;
constexpr Duration kCrowdedPauseMin = std::chrono::seconds(1);
constexpr int kCleaningsInGrace = 4;

}  // namespace

Task<size_t> CleanCrowded(Engine& engine) {
  size_t names = 0;
  if (!engine.MembersInForce() || !MayClean(engine.descriptor())) co_return names;
  const Duration pause = std::max(kCrowdedPauseMin, engine.options().superseded_grace / kCleaningsInGrace);
  Gather<Result<CleanOutcome>> cleaning(engine.scope(), engine.executor());
  for (; names < kCrowdedAtOnceMax; ++names) {
    std::optional<ObjectPath> name = engine.crowded_names().Take(engine.executor().Now(), pause);
    if (!name) break;
    cleaning.Start(names, CleanName(engine, std::move(*name)));
  }
  while (cleaning.pending() > 0) co_await cleaning.Next();
  co_return names;
}

}  // namespace xec
