// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/conformance/test/conformance_local_disk.hh"

#include <atomic>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace xec {
namespace {

std::atomic<LocalConformanceDisk*> watched = nullptr;

ino_t InodeOf(const fs::path& path) {
  struct stat now = {};
  XEC_CHECK(stat(path.c_str(), &now) == 0, "no {}", path.string());
  return now.st_ino;
}

std::map<std::string, ino_t> NamesIn(const fs::path& directory) {
  std::map<std::string, ino_t> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    names.emplace(entry.path().filename(), InodeOf(entry.path()));
  return names;
}

fs::path AsideOf(const fs::path& root) { return root.string() + ".away"; }

}  // namespace

LocalConformanceDisk::LocalConformanceDisk(std::string root) : root_(std::move(root)) {
  TakeAllForDurable();
  XEC_CHECK(watched.exchange(this) == nullptr);
}

LocalConformanceDisk::~LocalConformanceDisk() { watched = nullptr; }

void LocalConformanceDisk::TakeAway(bool mount_point) {
  fs::rename(root_, AsideOf(root_));
  if (mount_point) fs::create_directory(root_);
}

void LocalConformanceDisk::BringBack() {
  fs::remove(root_);
  fs::rename(AsideOf(root_), root_);
}

void LocalConformanceDisk::CutPower() {
  MutexLock lock(mutex_);
  std::map<ino_t, fs::path> files;
  std::vector<fs::path> directories = {root_};
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_)) {
    if (entry.is_directory()) directories.push_back(entry.path());
    if (entry.is_regular_file()) files.emplace(InodeOf(entry.path()), entry.path());
  }
  // Old names of what was renamed.
  for (const fs::path& directory : directories) {
    for (const auto& [name, inode] : durable_[InodeOf(directory)]) {
      const auto file = files.find(inode);
      if (file != files.end() && !fs::exists(directory / name))
        fs::create_hard_link(file->second, directory / name);
    }
  }
  LoseBelow(root_);
  TakeAllForDurable();
}

void LocalConformanceDisk::NoteSynced(int file) {
  struct stat now = {};
  if (fstat(file, &now) != 0 || !S_ISDIR(now.st_mode)) return;
  const Names names = NamesIn(fmt::format("/proc/self/fd/{}", file));
  MutexLock lock(mutex_);
  durable_[now.st_ino] = names;
}

// Numbers of directories that are gone may be those of new ones: they are forgotten, too.
void LocalConformanceDisk::TakeAllForDurable() {
  durable_.clear();
  durable_[InodeOf(root_)] = NamesIn(root_);
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root_)) {
    if (entry.is_directory()) durable_[InodeOf(entry.path())] = NamesIn(entry.path());
  }
}

void LocalConformanceDisk::LoseBelow(const fs::path& directory) {
  const Names& kept = durable_[InodeOf(directory)];
  for (const auto& [name, inode] : NamesIn(directory)) {
    const fs::path path = directory / name;
    if (!kept.contains(name)) {
      fs::remove_all(path);
    } else if (fs::is_directory(path)) {
      LoseBelow(path);
    }
  }
}

}  // namespace xec

// The C library's, but for a thread that watches.
extern "C" int fsync(int file) {
  const auto result = static_cast<int>(syscall(SYS_fsync, file));
  xec::LocalConformanceDisk* const disk = xec::watched;
  if (result == 0 && disk != nullptr) disk->NoteSynced(file);
  return result;
}
