// SPDX-License-Identifier: LGPL-3.0-or-later
#include "protocol/version.hh"

#include <algorithm>

#include "base/text.hh"

namespace xec {

namespace {

constexpr std::string_view kMoveLetters = "mdr";  // of 1, 2, 3

}  // namespace

std::string Version::ToString() const {
  std::string text = Hex(clock, 16) + "-" + Hex(writer, 8);
  if (move > 0) text += kMoveLetters[move - 1];
  return text;
}

std::optional<Version> Version::Parse(std::string_view text) {
  Version version;
  if (text.size() == kVersionTextBytes + 1) {
    const size_t letter = kMoveLetters.find(text.back());
    if (letter == kMoveLetters.npos) return std::nullopt;
    version.move = static_cast<uint8_t>(letter + 1);
    text.remove_suffix(1);
  }
  if (text.size() != kVersionTextBytes || text[16] != '-') return std::nullopt;
  const auto clock = ParseHex(text.substr(0, 16));
  const auto writer = ParseHex(text.substr(17));
  if (!clock || !writer) return std::nullopt;
  version.clock = *clock;
  version.writer = static_cast<uint32_t>(*writer);
  return version;
}

int64_t Version::WallMillis() const { return static_cast<int64_t>(clock >> kLogicalBits); }

bool IsObjectId(std::string_view text) {
  return text.size() == kObjectIdBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace xec
