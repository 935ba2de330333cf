// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P10, the side of those who remove a directory, or rename it away: a seal first, then a look at what
// is in it, uploads under way included. docs/protocol.md, section 15. The other side is parent.hh.
#pragma once

#include "commit/names.hh"
#include "commit/seals.hh"

namespace xec {

// A directory that is to be removed.
struct RemovalSeal {
  ObjectPath path;
  State seal;  // g.<v>.<oid>
  HomesSealed homes;
  TimePoint sealed_at;
  // Whoever had looked at the directory before has been answered by then, and what he made lives; or looks at
  // it once more.
  TimePoint settled_at() const { return sealed_at + KnownDirectories::kHolds; }
};

// Seals the directory that `info` shows. Whoever puts something in it from now on sees the seal, or had
// sealed before; without its first home that takes KnownDirectories::kHolds. Errors: kNoQuorum.
Task<Result<RemovalSeal>> SealRemoval(Engine& engine, const NameInfo& info);

// Takes the seal away again. For its maker only.
Task<void> WithdrawRemoval(Engine& engine, RemovalSeal removal);

// Brings to its end, as far as the homes answer, what somebody left open who makes something in the directory
// and seems to have died: it lives then, or never will. He who is only slow sees that the directory is
// removed.
Task<void> EndMaking(Engine& engine, std::vector<Making> under_way);

// Who is so long silent over an upload does not keep anybody from removing its directory.
inline constexpr Duration kSilentUpload = std::chrono::minutes(5);

}  // namespace xec
