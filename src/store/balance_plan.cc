// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/balance_plan.hh"

#include <algorithm>
#include <string>

#include "base/contains.hh"

namespace xec {
namespace {

double BytesOf(const LaneMove& move) { return static_cast<double>(move.bytes + BalancePlan::kBesideChunks); }

}  // namespace

BalancePlan::BalancePlan(const StoreDescriptor& descriptor, const std::map<MemberIndex, Space>& heard,
                         double within)
    : descriptor_(descriptor), within_(within), disk_of_(descriptor.members.size()) {
  std::map<std::string, size_t> by_filesystem;
  double total = 0, used = 0;
  for (const auto& [member, space] : heard) {
    const MemberRole role = descriptor.members[member].role;
    if (space.total_bytes == 0 || role == MemberRole::kLeaving || IsBeingEmptied(role)) continue;
    const auto known = by_filesystem.find(space.filesystem);
    if (!space.filesystem.empty() && known != by_filesystem.end()) {
      disk_of_[member] = known->second;
      continue;
    }
    disk_of_[member] = by_filesystem[space.filesystem] = disks_.size();
    Disk disk;
    disk.total = static_cast<double>(space.total_bytes);
    disk.used = disk.before =
        static_cast<double>(space.total_bytes - std::min(space.total_bytes, space.free_bytes));
    total += disk.total;
    used += disk.used;
    disks_.push_back(disk);
  }
  if (total > 0) mean_ = used / total;
  least_bytes_ = static_cast<uint64_t>(std::max(Excess(), Lack()));
}

double BalancePlan::Excess() const {
  double sum = 0;
  for (const Disk& disk : disks_) sum += std::max(0.0, disk.used - High(disk));
  return sum;
}

double BalancePlan::Lack() const {
  double sum = 0;
  for (const Disk& disk : disks_) sum += std::max(0.0, Low(disk) - disk.used);
  return sum;
}

BalancePlan::Disk* BalancePlan::DiskOf(MemberIndex member) {
  const std::optional<size_t> disk = disk_of_[member];
  return disk ? &disks_[*disk] : nullptr;
}

// Does the move take from what has to be moved still, without making another disk too full or too empty?
bool BalancePlan::Helps(const Disk& from, const Disk& to, double bytes) const {
  const bool too_full = from.used > High(from);
  const bool too_empty = to.used < Low(to);
  const double excess = Excess(), lack = Lack();
  if (excess >= lack && !too_full) return false;
  if (lack >= excess && !too_empty) return false;
  if (from.Part() <= mean_ || to.Part() >= mean_) return false;
  return from.used - bytes >= Low(from) && to.used + bytes <= High(to);
}

// The archive on the fullest disk that may go, to the emptiest disk that may take it; homes come first.
std::optional<LaneMove> BalancePlan::Best(const Object& object, bool from_homes) {
  std::map<std::string_view, size_t> on_host;
  for (const LanePlace& lane : object.lanes) ++on_host[descriptor_.members[lane.server].host];
  std::optional<LaneMove> best;
  double best_from = 0, best_to = 0;
  bool best_home = false;
  // An archive that was chosen is on a disk that has little by now, and so stays there.
  for (const LanePlace& lane : object.lanes) {
    const Disk* const from = DiskOf(lane.server);
    if (from == nullptr || Contains(object.homes, lane.server) != from_homes) continue;
    if (best && from->Part() < best_from) continue;
    const std::string& host = descriptor_.members[lane.server].host;
    for (const MemberIndex spare : object.spares) {
      const Disk* const to = DiskOf(spare);
      if (to == nullptr || to == from) continue;
      const std::string& other = descriptor_.members[spare].host;
      if (other != host && on_host[other] >= object.per_host_max) continue;
      const LaneMove move{lane.lane, lane.server, spare, lane.bytes};
      if (!Helps(*from, *to, BytesOf(move))) continue;
      const bool home = Contains(object.homes, spare);
      const bool fuller = !best || from->Part() > best_from;
      const bool better = home != best_home ? home : to->Part() < best_to;
      if (!fuller && !better) continue;
      best = move;
      best_from = from->Part();
      best_to = to->Part();
      best_home = home;
    }
  }
  return best;
}

std::vector<LaneMove> BalancePlan::Choose(Object object, bool homes_too) {
  std::vector<LaneMove> moves;
  while (!Balanced()) {
    std::optional<LaneMove> move = Best(object, false);
    if (!move && homes_too) move = Best(object, true);
    if (!move) break;
    Count(*move, +1);
    std::erase(object.spares, move->to);
    for (LanePlace& lane : object.lanes) {
      if (lane.lane == move->lane) lane.server = move->to;
    }
    moves.push_back(*move);
  }
  return moves;
}

void BalancePlan::Count(const LaneMove& move, int sign) {
  const double bytes = sign * BytesOf(move);
  DiskOf(move.from)->used -= bytes;
  DiskOf(move.to)->used += bytes;
  moved_bytes_ = sign > 0 ? moved_bytes_ + move.bytes : moved_bytes_ - move.bytes;
  moved_archives_ = sign > 0 ? moved_archives_ + 1 : moved_archives_ - 1;
}

void BalancePlan::Undo(std::span<const LaneMove> moves) {
  for (const LaneMove& move : moves) Count(move, -1);
}

std::vector<std::optional<MemberFill>> BalancePlan::Fills() const {
  std::vector<std::optional<MemberFill>> fills(disk_of_.size());
  for (size_t i = 0; i < fills.size(); ++i) {
    if (!disk_of_[i]) continue;
    const Disk& disk = disks_[*disk_of_[i]];
    const auto bytes = [](double value) { return static_cast<uint64_t>(std::max(0.0, value)); };
    fills[i] = MemberFill{bytes(disk.total), bytes(disk.before), bytes(disk.used)};
  }
  return fills;
}

}  // namespace xec
