// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/told_attributes.hh"

#include "commit/programs/attributes.hh"
#include "protocol/mode.hh"
#include "protocol/mtime.hh"

namespace xec {

void TellSet(const UserAttributes& values, ObjectInfo& told) {
  const auto mode = values.find(std::string(kModeAttribute));
  if (mode != values.end()) told.mode = ParseMode(mode->second);
  const auto mtime = values.find(std::string(kMtimeAttribute));
  if (mtime != values.end()) told.mtime_ms = ParseMtime(mtime->second).value_or(told.mtime_ms);
}

Task<ObjectInfo> TellAttributes(Engine& engine, NameInfo info, ObjectInfo told) {
  if (!ShowsAttributes(info.listings, info.accepted.version)) co_return told;
  const Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(info));
  if (set && *set) TellSet((*set)->set.Values(), told);
  co_return told;
}

}  // namespace xec
