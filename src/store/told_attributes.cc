// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/told_attributes.hh"

#include "commit/programs/attributes.hh"
#include "protocol/changed_settings.hh"

namespace xec {

namespace {

void TellChanged(const Settings& changed, ObjectInfo& told) {
  told.settings = told.settings.With(changed);
  if (changed.mtime_ns) told.mtime_ms = MillisOf(*changed.mtime_ns);
}

}  // namespace

void TellSet(const UserAttributes& values, ObjectInfo& told) { TellChanged(SettingsIn(values), told); }

Task<ObjectInfo> TellAttributes(Engine& engine, NameInfo info, ObjectInfo told) {
  const std::optional<Settings> changed =
      ChangedSettings(info.listings, info.accepted.version, engine.HomeQuorum(info.path));
  if (changed) {
    TellChanged(*changed, told);
    co_return told;
  }
  const Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(info));
  if (set && *set) TellSet((*set)->set.Values(), told);
  told.settings_known = set.has_value();
  co_return told;
}

}  // namespace xec
