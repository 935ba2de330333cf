// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/member.hh"

#include <limits>

#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

std::optional<uint32_t> ParseIndex(std::string_view text) {
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  const std::optional<uint64_t> value = ParseUint(text);
  if (!value || *value > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*value);
}

}  // namespace

std::string MemberName::ToString() const { return fmt::format("obj.{}.{}", stripe, chunk); }

std::optional<MemberName> MemberName::Parse(std::string_view text) {
  constexpr std::string_view kPrefix = "obj.";
  if (text.size() > kMemberNameSizeMax || !text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<uint32_t> stripe = ParseIndex(text.substr(0, dot));
  const std::optional<uint32_t> chunk = ParseIndex(text.substr(dot + 1));
  if (!stripe || !chunk) return std::nullopt;
  return MemberName{*stripe, *chunk};
}

}  // namespace xec
