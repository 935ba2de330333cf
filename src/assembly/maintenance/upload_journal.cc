// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/maintenance/upload_journal.hh"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/log.hh"
#include "base/random.hh"
#include "base/text.hh"

namespace xec {
namespace {

namespace fs = std::filesystem;

// Files that are tried: a rival may take one over before it is locked.
constexpr int kCreationsMax = 10;

std::string BeginLine(const std::string& object_id, const std::string& path) {
  return fmt::format("+{} {}\n", object_id, path);
}

// Null: another process has it, or it is gone, or another user's.
UniqueFd LockFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info;
  const bool taken = fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(fd.get(), &info) == 0 &&
                     S_ISREG(info.st_mode) && info.st_nlink > 0 && info.st_uid == ::geteuid();
  if (!taken) return UniqueFd();
  return fd;
}

std::string ReadAll(int fd, uint64_t bytes_max) {
  std::string text;
  std::string piece(64 * 1024, '\0');
  while (text.size() < bytes_max) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece, 0, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

std::map<std::string, std::string> ParseUploadJournal(std::string_view text) {
  std::map<std::string, std::string> open;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with('-')) open.erase(std::string(line.substr(1)));
    const size_t blank = line.find(' ');
    if (!line.starts_with('+') || blank == std::string_view::npos) continue;
    open.insert_or_assign(std::string(line.substr(1, blank - 1)), std::string(line.substr(blank + 1)));
  }
  return open;
}

UploadJournal::UploadJournal(std::string folder, std::string store_id)
    : file_{.folder = std::move(folder), .store_id = std::move(store_id)} {}

UploadJournal::~UploadJournal() {
  Post([this] {
    if (file_.fd && file_.open.empty()) (void)::unlink(file_.path.c_str());
  });
}

void UploadJournal::Post(Closure work) {
  if (waiting_ >= kWaitingMax) return;
  ++waiting_;
  thread_.Post([this, work = std::move(work)]() mutable {
    --waiting_;
    work();
  });
}

void UploadJournal::Begun(const ObjectPath& path, const std::string& object_id) {
  Post([this, path = path.text(), object_id] {
    file_.open[object_id] = path;
    file_.Write(BeginLine(object_id, path));
  });
}

void UploadJournal::Ended(const std::string& object_id) {
  Post([this, object_id] {
    if (file_.open.erase(object_id) > 0) file_.Write(fmt::format("-{}\n", object_id));
  });
}

bool UploadJournal::File::Create() {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  for (int i = 0; i < kCreationsMax; ++i) {
    path = fmt::format("{}/{}.{:016x}", folder, store_id, SystemSeed());
    fd = UniqueFd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) break;
    // Whoever took it before has found nothing in it, and removes it.
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return true;
  }
  fd = UniqueFd();
  return false;
}

// All that is open, if the file has to be written anew.
void UploadJournal::File::Write(std::string line) {
  const bool made = !fd && Create();
  if (made || bytes > kFileBytes + 2 * open.size() * kPathBytesMax) {
    line.clear();
    for (const auto& [object_id, of] : open) line += BeginLine(object_id, of);
    bytes = 0;
    if (fd && ::ftruncate(fd.get(), 0) != 0) fd = UniqueFd();
  }
  bytes += line.size();
  if (fd && ::write(fd.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  if (!std::exchange(told, true)) {
    Log(LogLevel::kWarning, "store",
        "cannot note uploads in {} ({}): if this process is killed, what it was writing can be changed by "
        "others "
        "only after xec.upload-grace",
        folder, std::generic_category().message(errno));
  }
}

std::optional<UploadJournal::Left> UploadJournal::File::TakeLeft() const {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& other = entry->path();
    if (other == path || !other.filename().string().starts_with(store_id + ".")) continue;
    UniqueFd lock = LockFile(other);
    if (!lock) continue;
    auto uploads = ParseUploadJournal(ReadAll(lock.get(), kDeadFileBytesMax));
    return Left{.file = other, .lock = std::move(lock), .uploads = std::move(uploads)};
  }
  return std::nullopt;
}

Task<std::optional<UploadJournal::Left>> UploadJournal::TakeLeft() {
  OneShot<std::optional<Left>> taken;
  thread_.Post([this, set = taken.Setter()] { set(file_.TakeLeft()); });
  co_return co_await taken;
}

Task<void> UploadJournal::Remove(Left left) {
  OneShot<int> removed;
  thread_.Post([&left, set = removed.Setter()] { set(::unlink(left.file.c_str())); });
  (void)co_await removed;
}

}  // namespace xec
