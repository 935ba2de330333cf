// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/verdict.hh"

#include <algorithm>

namespace xec {
namespace {

// A version beyond this is no time; it must not become a negative number.
int64_t Seconds(const XrdecAttributes& attributes) {
  return static_cast<int64_t>(std::min<uint64_t>(attributes.version, INT64_MAX));
}

}  // namespace

int64_t RemovedUpTo(const Accepted& registered) {
  const bool removed = registered.kind == Accepted::kRemoved || registered.kind == Accepted::kMoved;
  return removed ? registered.version.WallMillis() / 1000 : -1;
}

std::vector<MemberIndex> LeftOver(const std::vector<Found>& found, const Accepted& registered) {
  const int64_t removed_s = RemovedUpTo(registered);
  std::vector<MemberIndex> members;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].kind == Found::kArchive && Seconds(found[i].attributes) <= removed_s)
      members.push_back(static_cast<MemberIndex>(i));
  }
  return members;
}

int64_t HighestVersion(const std::vector<Found>& found) {
  int64_t highest = -1;
  for (const Found& one : found) {
    if (one.kind == Found::kArchive) highest = std::max(highest, Seconds(one.attributes));
  }
  return highest;
}

Verdict Judge(const std::vector<Found>& found, const Accepted& registered, const Geometry& geometry) {
  const bool known = registered.kind == Accepted::kObject;
  const int64_t removed_s = RemovedUpTo(registered);
  size_t silent = 0;
  bool other = false;
  Verdict verdict;
  for (size_t i = 0; i < found.size(); ++i) {
    const Found& one = found[i];
    if (one.kind == Found::kSilent) ++silent;
    if (one.kind == Found::kOther) other = true;
    if (one.kind != Found::kArchive) continue;
    if (known ? one.attributes.file_size != registered.size : Seconds(one.attributes) <= removed_s) continue;
    if (!verdict.holders.empty() && one.attributes.version < verdict.attributes.version) continue;
    if (verdict.holders.empty() || one.attributes.version > verdict.attributes.version) {
      verdict.holders.clear();
      verdict.attributes = one.attributes;
    }
    // Of one version and another size: not of the same object as the first.
    if (one.attributes.file_size == verdict.attributes.file_size)
      verdict.holders.push_back(static_cast<MemberIndex>(i));
  }
  if (known) {
    verdict.kind = Verdict::kObject;
    verdict.attributes.file_size = registered.size;
    return verdict;
  }
  const size_t held = verdict.holders.size();
  if (held >= geometry.data_chunks) {
    verdict.kind = Verdict::kObject;
    return verdict;
  }
  const bool hidden = held > 0 ? held + silent >= geometry.data_chunks : silent > geometry.parity_chunks;
  verdict = Verdict();
  verdict.kind = hidden ? Verdict::kCannotTell : other ? Verdict::kOther : Verdict::kNothing;
  return verdict;
}

}  // namespace xec
