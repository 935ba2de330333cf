// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/census.hh"

#include <algorithm>

namespace xec {

int LossesSurvived(std::vector<MemberIndex> servers, size_t needed) {
  std::map<MemberIndex, size_t> on_server;
  for (const MemberIndex server : servers) ++on_server[server];
  std::vector<size_t> counts;
  for (const auto& [server, count] : on_server) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  if (servers.size() < needed) return -1;
  size_t left = servers.size();
  int survived = 0;
  for (const size_t count : counts) {
    if (left - count < needed) break;
    left -= count;
    ++survived;
  }
  return survived;
}

std::vector<MemberIndex> NoneToSpare(const std::vector<MemberIndex>& servers, size_t needed) {
  if (servers.size() < needed) return {};
  std::map<MemberIndex, size_t> on_server;
  for (const MemberIndex server : servers) ++on_server[server];
  std::vector<MemberIndex> critical;
  for (const auto& [server, count] : on_server) {
    if (servers.size() - count < needed) critical.push_back(server);
  }
  return critical;
}

void Census::Add(const std::string& path, Redundancy left) {
  auto of = std::find_if(geometries_.begin(), geometries_.end(),
                         [&](const OfGeometry& known) { return known.geometry == left.geometry; });
  if (of == geometries_.end()) of = geometries_.insert(geometries_.end(), OfGeometry{left.geometry, {}});
  Count& count = of->survive[left.Lost() ? -2 : left.survives];
  ++count.objects;
  count.bytes += left.bytes;
  // What cannot be read has nothing more to lose.
  if (left.survives == 0) {
    for (const MemberIndex server : left.critical) {
      ++next_loss_[server].objects;
      next_loss_[server].bytes += left.bytes;
    }
  }
  left.critical.clear();
  if (left.Full()) {
    ++full_;
    return;
  }
  ++thin_;
  if (left.Lost()) ++lost_;
  if (left.away) ++away_;
  if (names_.size() < kThinTold) names_.push_back({path, std::move(left)});
}

void Census::AddUncounted(const std::string& path, const Error& error) {
  ++thin_;
  Redundancy left;
  left.survives = -1;
  left.away = error.code != Code::kDataLoss && error.code != Code::kCorruption;
  left.problem = error.message;
  if (left.away) {
    ++away_;
  } else {
    ++lost_;
  }
  if (names_.size() < kThinTold) names_.push_back({path, std::move(left)});
}

void Census::AddUnlisted(const std::string& directory, const Error& error) {
  unlisted_.push_back({directory, error.message});
}

Census::Count Census::total() const {
  Count total;
  for (const OfGeometry& of : geometries_) {
    for (const auto& [survives, count] : of.survive) {
      total.objects += count.objects;
      total.bytes += count.bytes;
    }
  }
  return total;
}

Census::Count Census::WithNextLoss(MemberIndex server) const {
  const auto found = next_loss_.find(server);
  return found == next_loss_.end() ? Count() : found->second;
}

void Census::Sort() {
  std::stable_sort(names_.begin(), names_.end(), [](const Thin& a, const Thin& b) {
    if (a.left.Lost() != b.left.Lost()) return a.left.Lost();
    return a.left.survives < b.left.survives;
  });
}

}  // namespace xec
