// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/file_status.hh"

#include <cstring>
#include <unistd.h>

#include "base/random.hh"
#include "protocol/object_path.hh"

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

}  // namespace

void FillStat(Gateway& gateway, std::string_view path, const ObjectInfo& info, struct stat* out) {
  std::memset(out, 0, sizeof(*out));
  out->st_mode = info.directory ? (S_IFDIR | info.settings.mode.value_or(0755))
                                : (S_IFREG | info.settings.mode.value_or(0644));
  out->st_nlink = 1;
  out->st_size = info.directory ? 4096 : static_cast<off_t>(info.size);
  out->st_blksize = 1 << 20;
  out->st_blocks = (out->st_size + 511) / 512;
  out->st_mtim.tv_sec = info.mtime_ms / 1000;
  out->st_mtim.tv_nsec = info.mtime_ms % 1000 * 1'000'000;
  out->st_atim = out->st_ctim = out->st_mtim;
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
