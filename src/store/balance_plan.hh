// SPDX-License-Identifier: LGPL-3.0-or-later
// BalancePlan: which archives are moved until all disks are about equally full, object by object as a walk
// comes to them. It moves no more than that takes:
//
//   excess    what disks hold above the mean and `within`, in all
//   lack      what disks hold less than the mean without `within`, in all
//
// The greater of the two has to be moved at least. As long as one is the greater, only what makes it less is
// moved; so each byte that is moved counts. Archives of an object leave the fullest disks for the emptiest.
// What was chosen counts as moved at once. Pure.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "api/balance.hh"
#include "placement/homes.hh"
#include "server/data_server.hh"

namespace xec {

class BalancePlan {
 public:
  // An archive has a directory and a manifest besides its chunks, and fills blocks.
  static constexpr uint64_t kBesideChunks = 4096;

  // `heard`: what the members told that answered. Others, and those that are about to go, take no part.
  BalancePlan(const StoreDescriptor& descriptor, const std::map<MemberIndex, Space>& heard, double within);

  struct Object {
    std::vector<LanePlace> lanes;
    std::vector<MemberIndex> homes;
    std::vector<MemberIndex> spares;  // hold nothing of it, and may
    size_t per_host_max = 0;          // archives
  };
  // `homes_too`: archives of homes may leave them; else they stay, as each version has archives on all homes
  // it can.
  std::vector<LaneMove> Choose(Object object, bool homes_too);
  // They stayed where they were.
  void Undo(std::span<const LaneMove> moves);

  bool Balanced() const { return Excess() == 0 && Lack() == 0; }
  double mean() const { return mean_; }
  // Chosen by now.
  uint64_t moved_bytes() const { return moved_bytes_; }
  uint64_t moved_archives() const { return moved_archives_; }
  // When it began.
  uint64_t least_bytes() const { return least_bytes_; }
  std::vector<std::optional<MemberFill>> Fills() const;

 private:
  struct Disk {
    double total = 0, used = 0;
    double before = 0;
    double Part() const { return used / total; }
  };
  Disk* DiskOf(MemberIndex member);
  double Excess() const;
  double Lack() const;
  double High(const Disk& disk) const { return (mean_ + within_) * disk.total; }
  double Low(const Disk& disk) const { return (mean_ - within_) * disk.total; }
  bool Helps(const Disk& from, const Disk& to, double bytes) const;
  std::optional<LaneMove> Best(const Object& object, bool from_homes);
  void Count(const LaneMove& move, int sign);

  const StoreDescriptor& descriptor_;
  const double within_;
  double mean_ = 0;
  std::vector<Disk> disks_;
  std::vector<std::optional<size_t>> disk_of_;  // by member
  uint64_t least_bytes_ = 0, moved_bytes_ = 0, moved_archives_ = 0;
};

}  // namespace xec
