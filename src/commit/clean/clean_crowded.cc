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

Task<CleanOutcome> CleanCrowded(Engine& engine) {
  CleanOutcome total;
  if (!MayClean(engine.descriptor())) co_return total;
  const Duration pause = std::max(kCrowdedPauseMin, engine.options().superseded_grace / kCleaningsInGrace);
  Gather<Result<CleanOutcome>> cleaning(engine.scope(), engine.executor());
  while (total.names < kCrowdedAtOnceMax) {
    std::optional<ObjectPath> name = engine.crowded_names().Take(engine.executor().Now(), pause);
    if (!name) break;
    ++total.names;
    cleaning.Start(0, CleanName(engine, std::move(*name)));
  }
  while (cleaning.pending() > 0 || cleaning.ready()) {
    const auto event = co_await cleaning.Next();
    if (!*event.value) continue;
    total.removed += (**event.value).removed;
    total.left += (**event.value).left;
  }
  co_return total;
}

}  // namespace xec
