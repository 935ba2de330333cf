// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/read_mode.hh"

#include <algorithm>

#include "commit/programs/attributes.hh"
#include "protocol/mode.hh"

namespace xec {
namespace {

bool ShowsAttributes(const NameInfo& info) {
  return std::any_of(info.listings.begin(), info.listings.end(), [&](const auto& listing) {
    return std::any_of(listing.second.begin(), listing.second.end(), [&](const State& state) {
      return state.kind == StateKind::kAttributes && state.version == info.accepted.version;
    });
  });
}

}  // namespace

Task<std::optional<uint32_t>> ReadMode(Engine& engine, NameInfo info) {
  if (!ShowsAttributes(info)) co_return std::nullopt;
  Result<std::optional<AttributeRevision>> set = co_await ReadAttributes(engine, std::move(info));
  if (!set || !*set) co_return std::nullopt;
  const UserAttributes values = (*set)->set.Values();
  const auto mode = values.find(std::string(kModeAttribute));
  if (mode == values.end()) co_return std::nullopt;
  co_return ParseMode(mode->second);
}

}  // namespace xec
