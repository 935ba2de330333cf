// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/told_attributes.hh"

#include "commit/programs/attributes.hh"

namespace xec {

void TellSet(const UserAttributes& values, ObjectInfo& told) {
  const Settings changed = SettingsIn(values);
  told.settings = told.settings.With(changed);
  if (changed.mtime_ns) told.mtime_ms = MillisOf(*changed.mtime_ns);
}

Task<ObjectInfo> TellAttributes(Engine& engine, NameInfo info, ObjectInfo told) {
  if (!ShowsAttributes(info.listings, info.accepted.version)) co_return told;
  const Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(info));
  if (set && *set) TellSet((*set)->set.Values(), told);
  co_return told;
}

}  // namespace xec
