// SPDX-License-Identifier: LGPL-3.0-or-later
#include "placement/store_descriptor.hh"

#include <algorithm>
#include <set>

#include "base/text.hh"
#include "base/units.hh"
#include "codec/checksum.hh"

namespace xec {
namespace {

constexpr size_t kIdBytesMax = 32;
constexpr std::string_view kChecksumField = "checksum";
constexpr uint64_t kTimeSecondsMax = 253'402'300'799;  // the end of the year 9999

// Of all lines before its own.
std::string ChecksumLine(std::string_view before) {
  return fmt::format("{} {}", kChecksumField, Hex(Crc32c(AsBytes(before)), 8));
}

bool KeepInDescriptor(unsigned char c) { return c > 0x20 && c < 0x7f; }

bool IsMemberId(std::string_view id) {
  if (id.empty() || id.size() > kIdBytesMax) return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

bool IsStoreId(std::string_view id) {
  return id.size() == 32 && ParseHex(id.substr(0, 16)) && ParseHex(id.substr(16));
}

std::string FormatGeometry(const Geometry& geometry) {
  return fmt::format("{} {}", geometry.ToString(), geometry.chunk_size_bytes);
}

Result<Geometry> ParseGeometryFields(std::string_view chunks, std::string_view chunk_size) {
  const auto bytes = ParseUint(chunk_size);
  if (!bytes) return Fail(Code::kCorruption, "'{}' is not a chunk size in bytes", chunk_size);
  return Geometry::Parse(chunks, *bytes);
}

// A field of a member that was listed before.
Status ApplyToMember(std::string_view key, std::string_view id, std::string_view value, StoreDescriptor& d) {
  const auto member =
      std::find_if(d.members.begin(), d.members.end(), [&](const Member& known) { return known.id == id; });
  if (member == d.members.end()) return Fail(Code::kCorruption, "'{}' is no member", id);
  if (key == "!role") {
    XEC_ASSIGN_OR_RETURN(member->role, ParseMemberRole(value));
    return OkStatus();
  }
  const auto until = ParseUint(value);
  if (!until || *until > kTimeSecondsMax) return Fail(Code::kCorruption, "'{}' is no time in seconds", value);
  member->maintenance_until_s = *until;
  return OkStatus();
}

// One field of the descriptor applied to it; `words` holds the key and its values.
Status Apply(const std::vector<std::string_view>& words, StoreDescriptor& d) {
  const std::string_view key = words[0];
  const auto want = [&](size_t count) -> Status {
    if (words.size() == count + 1) return OkStatus();
    return Fail(Code::kCorruption, "field '{}' has {} values instead of {}", key, words.size() - 1, count);
  };
  if (key == "rule") {
    XEC_TRY(want(3));
    auto prefix = PercentDecode(words[1]);
    if (!prefix || d.rules.size() >= kPathRulesMax) return Fail(Code::kCorruption, "bad path rule");
    XEC_ASSIGN_OR_RETURN(Geometry geometry, ParseGeometryFields(words[2], words[3]));
    d.rules.push_back(PathRule{std::move(*prefix), geometry});
    return OkStatus();
  }
  if (key == "member") {
    XEC_TRY(want(3));
    auto address = PercentDecode(words[2]);
    auto host = PercentDecode(words[3]);
    if (!address || !host || d.members.size() >= kMembersOfStoreMax)
      return Fail(Code::kCorruption, "bad member");
    d.members.push_back(Member{std::string(words[1]), std::move(*address), std::move(*host)});
    return OkStatus();
  }
  if (key == "!role" || key == "maintenance") {
    XEC_TRY(want(2));
    return ApplyToMember(key, words[1], words[2], d);
  }
  if (key == "geometry") {
    XEC_TRY(want(2));
    XEC_ASSIGN_OR_RETURN(d.geometry, ParseGeometryFields(words[1], words[2]));
    return OkStatus();
  }
  XEC_TRY(want(1));
  const std::string_view value = words[1];
  if (key == "layout") {
    XEC_ASSIGN_OR_RETURN(d.layout, ParseLayout(value));
  } else if (key == "sync") {
    XEC_ASSIGN_OR_RETURN(d.sync, ParseSyncPolicy(value));
  } else if (key == "store") {
    d.store_id = value;
  } else if (key == "epoch" || key == "tolerance" || key == "changed") {
    const auto number = ParseUint(value);
    if (!number || (key == "tolerance" && *number > 31))
      return Fail(Code::kCorruption, "'{}' is no {}", value, key);
    if (key == "epoch") d.epoch = *number;
    if (key == "changed") d.changed_s = *number;
    if (key == "tolerance") d.tolerance = static_cast<uint32_t>(*number);
  } else if (key == "adopts-xrdec") {
    d.adopts_xrdec = value == "yes";
  } else if (key == "!lease") {
    const auto seconds = ParseUint(value);
    if (!seconds || *seconds == 0 || *seconds > kLeaseSecondsMax)
      return Fail(Code::kCorruption, "'{}' is no lease in seconds", value);
    d.lease_s = static_cast<uint32_t>(*seconds);
  } else if (key == "!unswept") {
    d.unswept = value == "yes";
  } else if (key.starts_with('!')) {
    return Fail(Code::kUnsupported, "critical field '{}' was written by a newer XEC", key);
  }
  return OkStatus();  // unknown fields without '!' are ignorable
}

}  // namespace

std::string DescriptorPath(uint64_t epoch) {
  return epoch <= 1 ? std::string(kDescriptorPath) : fmt::format("{}.{}", kDescriptorPath, epoch);
}

std::optional<uint64_t> EpochOfEntry(std::string_view entry) {
  const std::string_view first = kDescriptorPath.substr(kReservedDirectory.size() + 1);
  if (entry == first) return 1;
  if (!entry.starts_with(first) || entry.size() < first.size() + 2 || entry[first.size()] != '.')
    return std::nullopt;
  const std::optional<uint64_t> epoch = ParseUint(entry.substr(first.size() + 1));
  const bool spelt = epoch && *epoch > 1 && fmt::format("{}.{}", first, *epoch) == entry;
  return spelt ? epoch : std::nullopt;
}

std::string FormatDescriptor(const StoreDescriptor& d) {
  const auto encode = [](const std::string& text) { return PercentEncode(text, KeepInDescriptor); };
  std::string text =
      fmt::format("xec-store {}\nstore {}\nepoch {}\nlayout {}\nsync {}\ntolerance {}\ngeometry {}\n",
                  kDescriptorFormat, d.store_id, d.epoch, LayoutName(d.layout), SyncPolicyName(d.sync),
                  d.tolerance, FormatGeometry(d.geometry));
  if (d.changed_s != 0) text += fmt::format("changed {}\n", d.changed_s);
  if (d.unswept) text += "!unswept yes\n";
  if (d.lease_s != kLeaseSecondsMax) text += fmt::format("!lease {}\n", d.lease_s);
  if (d.adopts_xrdec) text += "adopts-xrdec yes\n";
  for (const PathRule& rule : d.rules) {
    text += fmt::format("rule {} {}\n", encode(rule.prefix), FormatGeometry(rule.geometry));
  }
  for (const Member& member : d.members) {
    text += fmt::format("member {} {} {}\n", member.id, encode(member.address), encode(member.host));
    if (member.role != MemberRole::kFull)
      text += fmt::format("!role {} {}\n", member.id, MemberRoleName(member.role));
    if (member.maintenance_until_s != 0)
      text += fmt::format("maintenance {} {}\n", member.id, member.maintenance_until_s);
  }
  text += ChecksumLine(text) + "\n";
  return text + "end\n";
}

Result<StoreDescriptor> ParseDescriptor(std::string_view text) {
  if (text.size() > kDescriptorBytesMax) return Fail(Code::kCorruption, "the store descriptor is too long");
  StoreDescriptor descriptor;
  const std::vector<std::string_view> lines = Split(text, '\n');
  const std::vector<std::string_view> head = Split(lines[0], ' ');
  if (head.size() != 2 || head[0] != "xec-store")
    return Fail(Code::kCorruption, "this is no store descriptor");
  if (ParseUint(head[1]) != kDescriptorFormat) {
    return Fail(Code::kUnsupported, "the store descriptor has format {}, this XEC knows format {}", head[1],
                kDescriptorFormat);
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i] == "end") {
      XEC_TRY(ValidateDescriptor(descriptor));
      return descriptor;
    }
    const std::vector<std::string_view> words = Split(lines[i], ' ');
    if (words[0] == kChecksumField &&
        lines[i] != ChecksumLine(text.substr(0, static_cast<size_t>(lines[i].data() - text.data())))) {
      return Fail(Code::kCorruption, "the store descriptor is damaged: its checksum does not match");
    }
    const Status applied = Apply(words, descriptor);
    if (!applied) {
      return Fail(applied.code(), "line {} of the store descriptor: {}", i + 1, applied.error().message);
    }
  }
  return Fail(Code::kCorruption, "the store descriptor is cut short");
}

bool StoreDescriptor::IsChanging() const {
  return std::any_of(members.begin(), members.end(), [](const Member& member) {
    return member.role == MemberRole::kJoining || member.role == MemberRole::kLeaving;
  });
}

Status ValidateDescriptor(const StoreDescriptor& d) {
  if (!IsStoreId(d.store_id)) return Fail(Code::kCorruption, "'{}' is no store id", d.store_id);
  if (d.members.empty()) return Fail(Code::kInvalidArgument, "a store needs at least one data server");
  std::set<std::string_view> ids;
  for (const Member& member : d.members) {
    if (!IsMemberId(member.id)) return Fail(Code::kCorruption, "'{}' is no member id", member.id);
    if (!ids.insert(member.id).second) return Fail(Code::kCorruption, "member {} is listed twice", member.id);
  }
  const auto count = [&](MemberRole role) {
    return static_cast<size_t>(
        std::count_if(d.members.begin(), d.members.end(), [&](const Member& m) { return m.role == role; }));
  };
  const size_t changing = count(MemberRole::kJoining) + count(MemberRole::kLeaving);
  if (changing > 1 || (changing > 0 && d.unswept))
    return Fail(Code::kCorruption, "the store descriptor changes more than one member at a time");
  const size_t stay = count(MemberRole::kFull) + count(MemberRole::kJoining);
  const auto fits = [&](const Geometry& geometry, std::string_view where) -> Status {
    if (geometry.Total() <= stay) return OkStatus();
    return Fail(Code::kInvalidArgument, "geometry {} {} needs {} data servers, the store has {}",
                geometry.ToString(), where, geometry.Total(), stay);
  };
  XEC_TRY(fits(d.geometry, "of the store"));
  for (const PathRule& rule : d.rules) {
    if (rule.prefix.empty() || rule.prefix[0] != '/') {
      return Fail(Code::kInvalidArgument, "the path of a rule, '{}', must start with '/'", rule.prefix);
    }
    XEC_TRY(fits(rule.geometry, fmt::format("of the rule for {}", rule.prefix)));
  }
  return OkStatus();
}

std::string FormatIdentity(std::string_view store_id, std::string_view member_id) {
  return fmt::format("xec-server 1\nstore {}\nmember {}\n", store_id, member_id);
}

Result<Identity> ParseIdentity(std::string_view text) {
  const std::vector<std::string_view> lines = Split(text.substr(0, kDescriptorBytesMax), '\n');
  const auto value = [&](size_t line, std::string_view key) -> std::string_view {
    if (line >= lines.size()) return {};
    const std::vector<std::string_view> words = Split(lines[line], ' ');
    return words.size() == 2 && words[0] == key ? words[1] : std::string_view{};
  };
  const std::string_view format = value(0, "xec-server");
  const std::optional<uint64_t> number = ParseUint(format);
  if (!number) return Fail(Code::kCorruption, "this is no server identity");
  if (*number != 1)
    return Fail(Code::kUnsupported, "the server identity has format {}, this XEC knows format 1", *number);
  const std::string_view store = value(1, "store");
  const std::string_view member = value(2, "member");
  if (!IsStoreId(store) || !IsMemberId(member))
    return Fail(Code::kCorruption, "this server identity is damaged");
  return Identity{std::string(store), std::string(member)};
}

const char* LayoutName(Layout layout) { return layout == Layout::kNative ? "native" : "xrdec"; }

Result<Layout> ParseLayout(std::string_view text) {
  if (text == "native") return Layout::kNative;
  if (text == "xrdec") return Layout::kXrdec;
  return Fail(Code::kInvalidArgument, "'{}' is no layout (native or xrdec)", text);
}

const char* MemberRoleName(MemberRole role) {
  switch (role) {
    case MemberRole::kFull: return "full";
    case MemberRole::kJoining: return "joining";
    case MemberRole::kLeaving: return "leaving";
    case MemberRole::kEmptying: return "emptying";
    case MemberRole::kEmptied: return "emptied";
  }
  return "";
}

Result<MemberRole> ParseMemberRole(std::string_view text) {
  for (const MemberRole role : {MemberRole::kFull, MemberRole::kJoining, MemberRole::kLeaving,
                                MemberRole::kEmptying, MemberRole::kEmptied}) {
    if (text == MemberRoleName(role)) return role;
  }
  return Fail(Code::kUnsupported, "'{}' is no role of a member; a newer XEC may have written it", text);
}

const char* SyncPolicyName(SyncPolicy policy) { return policy == SyncPolicy::kCommit ? "commit" : "none"; }

Result<SyncPolicy> ParseSyncPolicy(std::string_view text) {
  if (text == "commit") return SyncPolicy::kCommit;
  if (text == "none") return SyncPolicy::kNone;
  return Fail(Code::kInvalidArgument, "'{}' is no sync policy (commit or none)", text);
}

const Geometry& GeometryFor(const StoreDescriptor& descriptor, std::string_view path) {
  const Geometry* best = &descriptor.geometry;
  size_t best_length = 0;
  for (const PathRule& rule : descriptor.rules) {
    std::string_view prefix = rule.prefix;
    while (prefix.size() > 1 && prefix.ends_with('/')) prefix.remove_suffix(1);
    const bool inside = prefix == "/" || (path.starts_with(prefix) && path.size() > prefix.size() &&
                                          path[prefix.size()] == '/');
    if (inside && prefix.size() >= best_length) {
      best = &rule.geometry;
      best_length = prefix.size();
    }
  }
  return *best;
}

}  // namespace xec
