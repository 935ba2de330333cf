// SPDX-License-Identifier: LGPL-3.0-or-later
// Promise P10, the side of operations that remove a directory, or rename it away: a seal first, then a look
// at what is in it, uploads under way included (docs/protocol/tree.md). The other side is parent.hh.
#pragma once

#include "commit/engine/names.hh"
#include "commit/steps/seals.hh"

namespace xec {

// For so long a look at a directory holds (KnownDirectories), and a margin: clocks do not run alike.
inline constexpr Duration kUntilLooksAreOver = KnownDirectories::kHolds + KnownDirectories::kHolds / 4;

// A directory that is to be removed.
struct RemovalSeal {
  ObjectPath path;
  State seal;  // g.<v>.<oid>
  HomesSealed homes;
  TimePoint sealed_at;
  // A maker that had looked at the directory before has been answered by then, and what it made lives; or it
  // looks once more.
  TimePoint settled_at() const { return sealed_at + kUntilLooksAreOver; }
};

// Seals the directory that `info` shows. A maker that puts something in it from now on sees the seal, or had
// sealed before; without its first home that takes kUntilLooksAreOver. Errors: kNoQuorum.
Task<Result<RemovalSeal>> SealRemoval(Engine& engine, const NameInfo& info);

// Takes the seal away again. For its maker only.
Task<void> WithdrawRemoval(Engine& engine, RemovalSeal removal);

// Does the seal still stand on the homes that answer? A cleaner may take it for that of a remover that has
// died.
Task<bool> RemovalStands(Engine& engine, const RemovalSeal& removal);

// Brings what is being made in the directory to its end, as far as the homes answer: it lives then, or never
// will, and its maker is told to retry. Not what a rename brings.
Task<void> EndMaking(Engine& engine, std::vector<Making> under_way);

// An upload that is silent for so long keeps nobody from removing its directory.
inline constexpr Duration kSilentUpload = std::chrono::minutes(5);

}  // namespace xec
