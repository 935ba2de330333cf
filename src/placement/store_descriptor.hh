// SPDX-License-Identifier: LGPL-3.0-or-later
// The store descriptor: what a store is. A small text file, the same on all data servers (docs/format.md);
// beside it each server keeps its own identity at kIdentityPath, so that a wrong, cloned or foreign disk is
// noticed. Pure: text in, text out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hh"
#include "codec/geometry.hh"

namespace xec {

// The reserved area at the root of every data server; no object may have a name below it.
inline constexpr std::string_view kReservedDirectory = "/.xec";
// The first one; that of a later epoch is beside it.
inline constexpr std::string_view kDescriptorPath = "/.xec/store";
// Copies of descriptors are never overwritten: each epoch has a file of its own.
std::string DescriptorPath(uint64_t epoch);
// Of an entry of the reserved area; nullopt: it is no descriptor.
std::optional<uint64_t> EpochOfEntry(std::string_view entry);
inline constexpr std::string_view kIdentityPath = "/.xec/server";
inline constexpr std::string_view kDiskClockFolder = "/.xec/clock";

constexpr uint32_t kDescriptorFormat = 1;
constexpr size_t kDescriptorBytesMax = 1024 * 1024;
constexpr size_t kMembersOfStoreMax = 1024;
constexpr size_t kPathRulesMax = 256;
constexpr uint32_t kLeaseSecondsMax = 90;
constexpr std::chrono::hours kMaintenanceMax = std::chrono::hours(30 * 24);

using MemberIndex = uint16_t;

inline constexpr std::string_view kLocalAddress = "local";

// What a member is for (docs/protocol/members.md).
enum class MemberRole {
  kFull,      // home of names, and holds archives
  kJoining,   // is becoming that: home of names by the list after the change only
  kLeaving,   // will not be home of names: it is by the list before the change only
  kEmptying,  // is home of no name; it holds archives until they have been moved, and gets none
  kEmptied,   // likewise, and they have been moved
};

// Emptying or emptied: home of no name, and gets no archives.
constexpr bool IsBeingEmptied(MemberRole role) {
  return role == MemberRole::kEmptying || role == MemberRole::kEmptied;
}

// A data server of the store. `id` ("s01") is for ever; the address may change.
struct Member {
  std::string id;
  // "root://host:port"; a directory, or kLocalAddress for one that is found by its identity file.
  std::string address;
  std::string host;     // servers that fail together have the same host
  MemberRole role = MemberRole::kFull;
  // In maintenance until then, in seconds since 1970: it is asked last, and gets archives only where there
  // are too few others.
  uint64_t maintenance_until_s = 0;
  bool operator==(const Member&) const = default;
};

enum class Layout { kNative, kXrdec };
enum class SyncPolicy { kCommit, kNone };

// Objects below `prefix` (a directory) are written with `geometry`; the longest prefix wins.
struct PathRule {
  std::string prefix;
  Geometry geometry;
  bool operator==(const PathRule&) const = default;
};

struct StoreDescriptor {
  std::string store_id;  // 32 lower-case hex digits
  uint64_t epoch = 1;    // grows with every change
  // Servers that were homes of names before the last change may still show states of them, which count for
  // nothing and have to go.
  bool unswept = false;
  Layout layout = Layout::kNative;
  SyncPolicy sync = SyncPolicy::kCommit;
  uint32_t tolerance = 0;          // t: the largest m of the store when it was made
  Geometry geometry;               // of objects that no rule covers
  // When the last change of the members was complete, in seconds since 1970; 0: there was none.
  uint64_t changed_s = 0;
  // For so many seconds at most a process goes by a list of members that too few of them have shown since.
  uint32_t lease_s = kLeaseSecondsMax;
  bool adopts_xrdec = false;       // objects in XrdEc form may lie on any server
  std::vector<PathRule> rules;
  std::vector<Member> members;

  // Does a member join or leave? One at a time.
  bool IsChanging() const;
  bool operator==(const StoreDescriptor&) const = default;
};

std::string FormatDescriptor(const StoreDescriptor& descriptor);
// Errors: kCorruption (with the line number, or the checksum, which older ones lack), kUnsupported for a
// newer format or an unknown critical field.
Result<StoreDescriptor> ParseDescriptor(std::string_view text);

// Refuses what could not work: no members, duplicate ids, more chunks than members in any rule, bad ids.
Status ValidateDescriptor(const StoreDescriptor& descriptor);

// The identity file of a member: "xec-server 1\nstore <id>\nmember <id>\n".
std::string FormatIdentity(std::string_view store_id, std::string_view member_id);
struct Identity {
  std::string store_id;
  std::string member_id;
};
Result<Identity> ParseIdentity(std::string_view text);

const char* LayoutName(Layout layout);
Result<Layout> ParseLayout(std::string_view text);
const char* MemberRoleName(MemberRole role);
Result<MemberRole> ParseMemberRole(std::string_view text);
const char* SyncPolicyName(SyncPolicy policy);
Result<SyncPolicy> ParseSyncPolicy(std::string_view text);

// The geometry with which an object at `path` is written.
const Geometry& GeometryFor(const StoreDescriptor& descriptor, std::string_view path);

}  // namespace xec
