// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/mode.hh"

#include <algorithm>
#include <charconv>

#include "commit/attributes.hh"

namespace xec {
namespace {

constexpr uint32_t kModeMax = 07777;

bool ShowsAttributes(const NameInfo& info) {
  return std::any_of(info.listings.begin(), info.listings.end(), [&](const auto& listing) {
    return std::any_of(listing.second.begin(), listing.second.end(), [&](const State& state) {
      return state.kind == StateKind::kAttributes && state.version == info.accepted.version;
    });
  });
}

}  // namespace

std::string FormatMode(uint32_t mode) { return fmt::format("{:04o}", mode & kModeMax); }

std::optional<uint32_t> ParseMode(std::string_view text) {
  uint32_t mode = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, mode, 8);
  if (error != std::errc() || rest != end || mode > kModeMax) return std::nullopt;
  return mode;
}

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
