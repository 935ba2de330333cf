// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/entry.hh"

#include <atomic>
#include <cstdlib>

namespace xec {
namespace {

// Two changes so close to each other may have the same time, clocks of servers may be a little ahead of ours,
// and an answer takes its time.
constexpr int64_t kMomentMs = 5000;
constexpr int64_t kNanosInSecond = 1'000'000'000;

std::string VersionOf(const XrdCl::StatInfo& info, int64_t changed_ms, WallMillis now, bool of_gateway) {
  static std::atomic<uint64_t> answers = 0;
  std::string version = fmt::format("{}.{}", info.GetId(), info.GetSize());
  if (of_gateway) return version;
  version += fmt::format(".{}", changed_ms);
  if (changed_ms > now - kMomentMs) version += fmt::format(".{}", ++answers);
  return version;
}

std::optional<uint32_t> ModeOf(const XrdCl::StatInfo& info) {
  if (!info.ExtendedFormat()) return std::nullopt;
  const std::string& octal = info.GetModeAsString();
  char* end = nullptr;
  const unsigned long mode = std::strtoul(octal.c_str(), &end, 8);
  constexpr unsigned long kPermissions = 07777;
  if (octal.empty() || *end != '\0') return std::nullopt;
  return static_cast<uint32_t>(mode & kPermissions);
}

}  // namespace

Told ToldOf(const XrdCl::StatInfo& info, WallMillis now, bool of_gateway) {
  Told told;
  told.entry.directory = info.TestFlags(XrdCl::StatInfo::IsDir);
  told.entry.link = of_gateway && info.TestFlags(XrdCl::StatInfo::Other);
  told.entry.size = told.entry.directory ? 0 : info.GetSize();
  const auto mtime_s = static_cast<int64_t>(info.GetModTime());
  told.entry.mtime_ns = mtime_s * kNanosInSecond;
  told.entry.mode = ModeOf(info);
  const int64_t changed_ms =
      (info.ExtendedFormat() ? static_cast<int64_t>(info.GetChangeTime()) : mtime_s) * 1000;
  told.id = info.GetId();
  told.entry.version = VersionOf(info, changed_ms, now, of_gateway);
  told.identity = fmt::format("{}.{}.{}", info.GetId(), info.GetSize(), info.GetModTime());
  if (of_gateway) {
    // Its time may be set.
    told.identity = told.entry.version;
    told.entry.ctime_ns = changed_ms * kNanosInMilli;
  }
  told.readable = info.TestFlags(XrdCl::StatInfo::IsReadable);
  told.writable = info.TestFlags(XrdCl::StatInfo::IsWritable);
  told.enterable = info.TestFlags(XrdCl::StatInfo::XBitSet);
  return told;
}

XrdCl::Access::Mode AccessOf(uint32_t mode) {
  using XrdCl::Access;
  uint32_t bits = 0;
  for (const auto& [of_mode, of_access] : {std::pair<uint32_t, uint32_t>{0400, Access::UR},
                                           {0200, Access::UW},
                                           {0100, Access::UX},
                                           {040, Access::GR},
                                           {020, Access::GW},
                                           {010, Access::GX},
                                           {04, Access::OR},
                                           {02, Access::OW},
                                           {01, Access::OX}})
    bits |= (mode & of_mode) != 0 ? of_access : 0;
  return static_cast<Access::Mode>(bits);
}

}  // namespace xec
