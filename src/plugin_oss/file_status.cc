// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/file_status.hh"

#include <cstring>
#include <unistd.h>

#include "base/contains.hh"
#include "base/random.hh"
#include "plugin_oss/opaque.hh"
#include "protocol/object_path.hh"
#include "protocol/settings_attribute.hh"

namespace xec {
namespace {

uint64_t IdentityOf(std::string_view store_id, std::string_view path, const Version& version) {
  const Result<ObjectPath> parsed = ObjectPath::Parse(path);  // clients write it with slashes as they like
  uint64_t identity = Mix64(version.clock) ^ version.writer;
  for (const char c : std::string(store_id) + ' ' + (parsed ? parsed->text() : std::string(path)))
    identity = Mix64(identity ^ static_cast<unsigned char>(c));
  return Mix64(identity);
}

uint64_t InodeOf(uint64_t identity) { return (identity | 1) & INT64_MAX; }
uint64_t DeviceOf(uint64_t identity) { return (identity >> 32 & INT32_MAX) | 1; }

constexpr mode_t kDirectoryMode = 0755, kFileMode = 0644, kLinkMode = 0777;

mode_t ModeOf(const ObjectInfo& info, TellAs as) {
  if (info.directory) return S_IFDIR | info.settings.mode.value_or(kDirectoryMode);
  if (info.settings.link && as == TellAs::kMount) return S_IFLNK | kLinkMode;
  return S_IFREG | info.settings.mode.value_or(kFileMode);
}

// Of a time before 1970 the part of a second counts up all the same.
timespec TimeOf(int64_t ms) {
  const int64_t part_ms = (ms % 1000 + 1000) % 1000;
  return {.tv_sec = (ms - part_ms) / 1000, .tv_nsec = part_ms * 1'000'000};
}

}  // namespace

TellAs TellAsOf(std::string_view opaque) {
  return Contains(OpaqueValues(opaque, kTellAttribute), kTellSettings) ? TellAs::kMount : TellAs::kStock;
}

void FillStat(Gateway& gateway, std::string_view path, const ObjectInfo& info, struct stat* out, TellAs as) {
  std::memset(out, 0, sizeof(*out));
  out->st_mode = ModeOf(info, as);
  out->st_nlink = 1;
  out->st_size = info.directory ? 4096 : static_cast<off_t>(info.size);
  out->st_blksize = 1 << 20;
  out->st_blocks = (out->st_size + 511) / 512;
  out->st_mtim = out->st_atim = TimeOf(info.mtime_ms);
  // Nobody sets that one. Of an upload, and the root, there is none.
  out->st_ctim = info.version == Version() ? out->st_mtim : TimeOf(info.version.WallMillis());
  const uint64_t identity = IdentityOf(gateway.StoreId(), path, info.version);
  out->st_ino = InodeOf(identity);
  out->st_dev = DeviceOf(identity);
  // XRootD tells its clients what its own user may do.
  out->st_uid = geteuid();
  out->st_gid = getegid();
}

std::string EntityTag(Gateway& gateway, std::string_view path, const Version& version) {
  constexpr uint64_t kLowerHalf = UINT32_MAX;
  const uint64_t identity = IdentityOf(gateway.StoreId(), path, version);
  // XRootD tells its clients the lower half of each.
  const uint64_t told = (InodeOf(identity) & kLowerHalf) << 32 | (DeviceOf(identity) & kLowerHalf);
  return fmt::format("{}", static_cast<int64_t>(told));
}

}  // namespace xec
