// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/kinds/local_server.hh"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/io_threads.hh"
#include "server/kinds/local_file.hh"
#include "server/path.hh"

namespace xec {
namespace {

// What a stock server puts before the names of its clients' attributes on disk.
constexpr std::string_view kAttributePrefix = "user.U.";

// How often an operation makes the parents of its target again that somebody else has just removed.
constexpr int kParentTries = 8;

// How often a listing looks whether it is late: each entry takes a system call, of up to a seek.
constexpr size_t kListCheckEntries = 256;

using RootFd = std::shared_ptr<UniqueFd>;

}  // namespace

// The blocking operations. Shared by the requests in flight, which may outlive the server.
class LocalServer::Tree {
 public:
  Tree(std::string root, LocalServerOptions options)
      : options_(std::move(options)),
        root_(root, options_.identity),
        threads_(std::make_shared<IoThreads>("xec" + root.substr(root.rfind('/') + 1), kThreads)) {}

  const std::string& name() const { return root_.path(); }
  IoThreads& threads() { return *threads_; }

  Result<std::shared_ptr<ArchiveFile>> OpenForRead(const std::string& path);
  Result<std::shared_ptr<ArchiveFile>> Create(const std::string& path);
  Result<std::vector<Entry>> List(OpContext context, const std::string& path);
  Status Rename(const std::string& from, const std::string& to);
  Status Unlink(const std::string& path, int flags, const char* verb);
  Status MakeDirectory(const std::string& path);
  Status SetAttributes(const std::string& path, const Attributes& attributes);
  Result<Attributes> GetAttributes(const std::string& path, const std::string& prefix);
  Result<Space> GetSpace();

 private:
  Error Failed(const RootFd& root, int error, const char* verb, const std::string& path) {
    return error == ENOENT ? root_.Missing(root, verb, path) : ErrnoError(error, verb, path, name());
  }
  // Makes the directory and its missing parents; 0 or errno. Adds the directories whose entries changed, or,
  // where somebody else has made it, may still be on their way to the disk.
  int MakeDirectories(int root, std::string_view path, std::vector<std::string>& changed);
  Status SyncIfAsked(const RootFd& root, const std::vector<std::string>& directories);

  const LocalServerOptions options_;
  LocalRoot root_;
  const std::shared_ptr<IoThreads> threads_;
};

int LocalServer::Tree::MakeDirectories(int root, std::string_view path, std::vector<std::string>& changed) {
  if (path == "/") return 0;
  const std::string text(path);
  if (mkdirat(root, Relative(text), 0755) == 0) {
    changed.emplace_back(ParentPath(path));
    return 0;
  }
  if (errno == EEXIST) {
    struct stat there = {};
    if (fstatat(root, Relative(text), &there, 0) != 0) return errno;
    if (!S_ISDIR(there.st_mode)) return EEXIST;
    changed.emplace_back(ParentPath(path));
    changed.push_back(text);
    return 0;
  }
  if (errno != ENOENT) return errno;
  if (const int error = MakeDirectories(root, ParentPath(path), changed); error != 0) return error;
  if (mkdirat(root, Relative(text), 0755) != 0 && errno != EEXIST) return errno;
  changed.emplace_back(ParentPath(path));
  return 0;
}

Status LocalServer::Tree::SyncIfAsked(const RootFd& root, const std::vector<std::string>& directories) {
  if (!options_.sync_directories) return OkStatus();
  for (const std::string& directory : directories) {
    const int error = SyncDirectory(root->get(), directory);
    // Renamed or removed meanwhile by somebody else: whatever is there now, all of it becomes durable.
    if (error == ENOENT && syncfs(root->get()) == 0) continue;
    if (error != 0) {
      return Fail(Code::kUnavailable, "sync directory {} on {}: {}", directory, name(), ErrnoWords(error));
    }
  }
  return OkStatus();
}

Result<std::shared_ptr<ArchiveFile>> LocalServer::Tree::OpenForRead(const std::string& path) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  UniqueFd file(openat(root->get(), Relative(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Failed(root, errno, "open", path);
  struct stat now = {};
  if (fstat(file.get(), &now) != 0) return ErrnoError(errno, "open", path, name());
  if (S_ISDIR(now.st_mode)) return ErrnoError(EISDIR, "open", path, name());
  if (!S_ISREG(now.st_mode))
    return Fail(Code::kInvalidArgument, "{} on {} is not a regular file", path, name());
  return std::shared_ptr<ArchiveFile>(
      std::make_shared<LocalFile>(threads_, root, std::move(file), static_cast<uint64_t>(now.st_size),
                                  path + " on " + name(), std::vector<std::string>{}));
}

Result<std::shared_ptr<ArchiveFile>> LocalServer::Tree::Create(const std::string& path) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  std::vector<std::string> changed;
  for (int tries = 0;; ++tries) {
    UniqueFd file(openat(root->get(), Relative(path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file) {
      if (Status synced = SyncIfAsked(root, changed); !synced) return synced.error();
      if (options_.sync_directories) changed.clear();  // on the disk; not again with the file
      changed.emplace_back(ParentPath(path));
      return std::shared_ptr<ArchiveFile>(std::make_shared<LocalFile>(
          threads_, root, std::move(file), 0, path + " on " + name(), std::move(changed)));
    }
    if (errno != ENOENT || tries == kParentTries) return Failed(root, errno, "create", path);
    const int error = MakeDirectories(root->get(), ParentPath(path), changed);
    if (error == EEXIST) return ErrnoError(ENOTDIR, "make the parents of", path, name());
    if (error != 0 && error != ENOENT) return ErrnoError(error, "make the parents of", path, name());
    if (error == ENOENT) {
      // The root itself may be gone; otherwise somebody is removing the parents right now.
      if (const Error missing = root_.Missing(root, "create", path); missing.code != Code::kNotFound)
        return missing;
    }
  }
}

Result<std::vector<Entry>> LocalServer::Tree::List(OpContext context, const std::string& path) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  UniqueFd fd(openat(root->get(), Relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return Failed(root, errno, "list", path);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(fd.get()), closedir);
  if (!directory) return ErrnoError(errno, "list", path, name());
  const int raw = fd.release();  // now the DIR's
  std::vector<Entry> entries;
  size_t seen = 0;
  while (true) {
    errno = 0;
    const dirent* found = readdir(directory.get());
    if (found == nullptr) break;
    // Nobody waits for it any more, and others wait for this thread.
    if (++seen % kListCheckEntries == 0 && IsLate(context))
      return Fail(Code::kDeadlineExceeded, "list {} on {}: {} entries take too long", path, name(), seen);
    const std::string_view entry = found->d_name;
    if (entry == "." || entry == "..") continue;
    struct stat now = {};
    // A link that leads nowhere is listed as itself; an entry removed meanwhile is not there.
    if (fstatat(raw, found->d_name, &now, 0) != 0 &&
        fstatat(raw, found->d_name, &now, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return ErrnoError(errno, "list", path, name());
    }
    const bool is_directory = S_ISDIR(now.st_mode);
    entries.push_back({std::string(entry), is_directory,
                       is_directory ? 0 : static_cast<uint64_t>(now.st_size), now.st_mtim.tv_sec});
  }
  if (errno != 0) return ErrnoError(errno, "list", path, name());
  return entries;
}

namespace {

// rename that refuses an existing target; 0 or errno. File systems without RENAME_NOREPLACE get a look at
// the target first, which is not atomic, but the engine never renames onto a name that could exist.
int RenameNoReplace(int root, const std::string& from, const std::string& to) {
  if (syscall(SYS_renameat2, root, Relative(from), root, Relative(to), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  struct stat there = {};
  if (fstatat(root, Relative(to), &there, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(root, Relative(from), root, Relative(to)) == 0 ? 0 : errno;
}

}  // namespace

Status LocalServer::Tree::Rename(const std::string& from, const std::string& to) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  std::vector<std::string> changed;
  int error = 0;
  for (int tries = 0; tries <= kParentTries; ++tries) {
    error = RenameNoReplace(root->get(), from, to);
    if (error != ENOENT) break;
    struct stat source = {};
    if (fstatat(root->get(), Relative(from), &source, AT_SYMLINK_NOFOLLOW) != 0) {
      return Failed(root, errno, "rename", from);
    }
    // The source is there, so a parent of the target is missing.
    const int made = MakeDirectories(root->get(), ParentPath(to), changed);
    if (made == EEXIST) return ErrnoError(ENOTDIR, "make the parents of", to, name());
    if (made != 0 && made != ENOENT) return ErrnoError(made, "make the parents of", to, name());
  }
  if (error == EEXIST) {
    // A caller that relies on what is there relies on its being on the disk.
    changed.emplace_back(ParentPath(to));
    const Status synced = SyncIfAsked(root, changed);
    return synced ? Status(Failed(root, error, "rename", from)) : synced;
  }
  if (error != 0) return Failed(root, error, "rename", from);
  changed.emplace_back(ParentPath(to));
  if (ParentPath(from) != ParentPath(to)) changed.emplace_back(ParentPath(from));
  return SyncIfAsked(root, changed);
}

Status LocalServer::Tree::Unlink(const std::string& path, int flags, const char* verb) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  if (unlinkat(root->get(), Relative(path), flags) == 0) return OkStatus();
  // POSIX lets rmdir of a non-empty directory answer either; what is mounted on one is something in it.
  const bool not_empty = flags == AT_REMOVEDIR && (errno == EEXIST || errno == EBUSY);
  return Failed(root, not_empty ? ENOTEMPTY : errno, verb, path);
}

Status LocalServer::Tree::MakeDirectory(const std::string& path) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  std::vector<std::string> changed;
  for (int tries = 0;; ++tries) {
    const int error = MakeDirectories(root->get(), path, changed);
    if (error == 0) return SyncIfAsked(root, changed);
    // ENOENT: a parent was removed right after it was made.
    if (error != ENOENT || tries == kParentTries) return Failed(root, error, "make directory", path);
  }
}

Status LocalServer::Tree::SetAttributes(const std::string& path, const Attributes& attributes) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  const UniqueFd file(openat(root->get(), Relative(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Failed(root, errno, "set attributes of", path);
  for (const auto& [key, value] : attributes) {
    const std::string full = std::string(kAttributePrefix) + key;
    if (fsetxattr(file.get(), full.c_str(), value.data(), value.size(), 0) != 0) {
      // Too long for the name or the value limits of the file system.
      const int error = errno == ERANGE || errno == E2BIG ? EINVAL : errno;
      return ErrnoError(error, "set attributes of", path, name());
    }
  }
  if (options_.sync_directories && fsync(file.get()) != 0)
    return Fail(Code::kUnavailable, "sync attributes of {} on {}: {}", path, name(), ErrnoWords(errno));
  return OkStatus();
}

Result<Attributes> LocalServer::Tree::GetAttributes(const std::string& path, const std::string& prefix) {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  const UniqueFd file(openat(root->get(), Relative(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Failed(root, errno, "get attributes of", path);
  // 64 KiB is the kernel's limit for a list of names and for a value.
  std::string names(size_t{64} * 1024, '\0');
  const ssize_t listed = flistxattr(file.get(), names.data(), names.size());
  if (listed < 0) return ErrnoError(errno, "get attributes of", path, name());
  names.resize(static_cast<size_t>(listed));
  Attributes attributes;
  std::string value(size_t{64} * 1024, '\0');
  for (size_t at = 0; at < names.size();) {
    const char* full = names.c_str() + at;
    const std::string_view text(full);
    at += text.size() + 1;
    if (!text.starts_with(kAttributePrefix)) continue;
    const std::string_view key = text.substr(kAttributePrefix.size());
    if (!key.starts_with(prefix)) continue;
    const ssize_t length = fgetxattr(file.get(), full, value.data(), value.size());
    if (length < 0 && errno == ENODATA) continue;  // removed meanwhile
    if (length < 0) return ErrnoError(errno, "get attributes of", path, name());
    attributes.emplace_back(key, value.substr(0, static_cast<size_t>(length)));
  }
  return attributes;
}

Result<Space> LocalServer::Tree::GetSpace() {
  XEC_ASSIGN_OR_RETURN(const RootFd root, root_.Open());
  struct statvfs now = {};
  struct stat root_now = {};
  if (fstatvfs(root->get(), &now) != 0 || fstat(root->get(), &root_now) != 0) {
    return ErrnoError(errno, "query space of", "/", name());
  }
  return Space{uint64_t{now.f_blocks} * now.f_frsize, uint64_t{now.f_bavail} * now.f_frsize,
               fmt::format("device {}", root_now.st_dev)};
}

LocalServer::LocalServer(std::string root, LocalServerOptions options)
    : tree_(std::make_shared<Tree>(std::move(root), std::move(options))) {}

LocalServer::~LocalServer() = default;

const std::string& LocalServer::name() const { return tree_->name(); }

// Runs the blocking `work(tree)` on the server's threads and hands its result to `done`.
template <typename T, typename Work>
void LocalServer::Run(OpContext context, const char* verb, Done<T> done, Work work) {
  // Queued work owns the tree and so the threads; each piece lets go when it has run.
  tree_->threads().Post([tree = tree_, context, verb, done = std::move(done),
                         work = std::move(work)]() mutable {
    if (IsLate(context)) {
      return done(Fail(Code::kDeadlineExceeded, "{} on {} waited too long for its turn", verb, tree->name()));
    }
    done(work(*tree));
  });
}

void LocalServer::Open(OpContext context, std::string path, OpenMode mode,
                       Done<std::shared_ptr<ArchiveFile>> done) {
  Run<std::shared_ptr<ArchiveFile>>(
      context, "open", std::move(done),
      [path = std::move(path), mode](Tree& tree) -> Result<std::shared_ptr<ArchiveFile>> {
        XEC_TRY(CheckPath(path));
        return mode == OpenMode::kCreate ? tree.Create(path) : tree.OpenForRead(path);
      });
}

void LocalServer::List(OpContext context, std::string path, Done<std::vector<Entry>> done) {
  Run<std::vector<Entry>>(context, "list", std::move(done),
                          [context, path = std::move(path)](Tree& tree) -> Result<std::vector<Entry>> {
                            XEC_TRY(CheckPath(path));
                            return tree.List(context, path);
                          });
}

void LocalServer::ListMany(OpContext context, std::vector<std::string> paths,
                           Done<std::vector<Listed>> done) {
  Run<std::vector<Listed>>(context, "list", std::move(done),
                           [context, paths = std::move(paths)](Tree& tree) -> Result<std::vector<Listed>> {
                             std::vector<Listed> lists;
                             for (const std::string& path : paths) {
                               XEC_TRY(CheckPath(path));
                               if (IsLate(context)) {
                                 return Fail(Code::kDeadlineExceeded,
                                             "list {} directories on {}: {} of them take too long",
                                             paths.size(), tree.name(), lists.size());
                               }
                               Result<std::vector<Entry>> listed = tree.List(context, path);
                               if (!listed && listed.code() != Code::kNotFound) return listed.error();
                               lists.push_back(listed ? Listed(std::move(*listed)) : std::nullopt);
                             }
                             return lists;
                           });
}

void LocalServer::Rename(OpContext context, std::string from, std::string to, Done<void> done) {
  Run<void>(context, "rename", std::move(done),
            [from = std::move(from), to = std::move(to)](Tree& tree) -> Status {
              XEC_TRY(CheckPath(from));
              XEC_TRY(CheckPath(to));
              return tree.Rename(from, to);
            });
}

void LocalServer::Remove(OpContext context, std::string path, Done<void> done) {
  Run<void>(context, "remove", std::move(done), [path = std::move(path)](Tree& tree) -> Status {
    XEC_TRY(CheckPath(path));
    return tree.Unlink(path, 0, "remove");
  });
}

void LocalServer::MakeDirectory(OpContext context, std::string path, Done<void> done) {
  Run<void>(context, "make directory", std::move(done), [path = std::move(path)](Tree& tree) -> Status {
    XEC_TRY(CheckPath(path));
    return tree.MakeDirectory(path);
  });
}

void LocalServer::RemoveDirectory(OpContext context, std::string path, Done<void> done) {
  Run<void>(context, "remove directory", std::move(done), [path = std::move(path)](Tree& tree) -> Status {
    XEC_TRY(CheckPath(path));
    return tree.Unlink(path, AT_REMOVEDIR, "remove directory");
  });
}

void LocalServer::SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) {
  Run<void>(context, "set attributes", std::move(done),
            [path = std::move(path), attributes = std::move(attributes)](Tree& tree) -> Status {
              XEC_TRY(CheckPath(path));
              return tree.SetAttributes(path, attributes);
            });
}

void LocalServer::GetAttributes(OpContext context, std::string path, std::string prefix,
                                Done<Attributes> done) {
  Run<Attributes>(context, "get attributes", std::move(done),
                  [path = std::move(path), prefix = std::move(prefix)](Tree& tree) -> Result<Attributes> {
                    XEC_TRY(CheckPath(path));
                    return tree.GetAttributes(path, prefix);
                  });
}

void LocalServer::GetSpace(OpContext context, Done<Space> done) {
  Run<Space>(context, "query space", std::move(done), [](Tree& tree) { return tree.GetSpace(); });
}

}  // namespace xec
