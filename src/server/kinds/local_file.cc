// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/kinds/local_file.hh"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace xec {
namespace {

// Of these bytes: a bad sector, or checksums of the file system's own that do not fit.
bool IsOfTheDisk(int error) { return error == EIO || error == EUCLEAN || error == EBADMSG; }

}  // namespace

bool IsLate(OpContext context) {
  return context.deadline != TimePoint::max() && std::chrono::steady_clock::now() > context.deadline;
}

int SyncDirectory(int root, const std::string& path) {
  const UniqueFd directory(openat(root, Relative(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || fsync(directory.get()) != 0) return errno;
  return 0;
}

LocalFile::LocalFile(std::shared_ptr<IoThreads> threads, std::shared_ptr<UniqueFd> root, UniqueFd file,
                     uint64_t size, std::string description, std::vector<std::string> name_directories)
    : threads_(std::move(threads)),
      root_(std::move(root)),
      size_(size),
      description_(std::move(description)),
      name_directories_(std::move(name_directories)),
      file_(std::make_shared<UniqueFd>(std::move(file))) {}

Error LocalFile::Failed(int error, const char* verb) const {
  return Fail(CodeOfErrno(error), "{} {}: {}", verb, description_, ErrnoWords(error));
}

template <typename T, typename Work>
void LocalFile::Run(OpContext context, const char* verb, Done<T> done, Work work) {
  Fd file;
  {
    MutexLock lock(mutex_);
    file = file_;
  }
  threads_->Post([self = shared_from_this(), file = std::move(file), context, verb, done = std::move(done),
                  work = std::move(work)]() mutable {
    if (!file) return done(Fail(Code::kCancelled, "{} {}: it is closed", verb, self->description_));
    if (IsLate(context))
      return done(Fail(Code::kDeadlineExceeded, "{} {} waited too long", verb, self->description_));
    Result<T> answer = work(*self, file->get());
    file.reset();  // an answered request keeps the file open no longer: Close is the last then
    done(std::move(answer));
  });
}

void LocalFile::Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) {
  Run<uint64_t>(context, "read", std::move(done),
                [ranges = std::move(ranges), into = std::move(into)](const LocalFile& self, int fd) {
                  return self.ReadAll(fd, ranges, into);
                });
}

Result<uint64_t> LocalFile::ReadAll(int fd, const std::vector<ByteRange>& ranges, const Slice& into) const {
  const MutableByteSpan bytes = into.span();
  uint64_t got = 0;
  for (size_t i = 0; i < ranges.size();) {
    // Ranges that follow each other in the file also do so in the buffer: one call for all of them.
    const uint64_t offset = ranges[i].offset;
    uint64_t length = ranges[i].length;
    for (++i; i < ranges.size() && ranges[i].offset == offset + length; ++i) length += ranges[i].length;
    if (length > bytes.size() - got) {
      return Fail(Code::kInvalidArgument, "read {}: the ranges are longer than the buffer", description_);
    }
    for (uint64_t done = 0; done < length;) {
      const ssize_t n = pread(fd, bytes.data() + got, length - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && IsOfTheDisk(errno))
        return Fail(Code::kUnreadable, "read {}: {}", description_, ErrnoWords(errno));
      if (n < 0) return Failed(errno, "read");
      if (n == 0) return got;
      done += static_cast<uint64_t>(n);
      got += static_cast<uint64_t>(n);
    }
  }
  return got;
}

void LocalFile::Write(OpContext context, uint64_t offset, Slice from, Done<void> done) {
  Run<void>(context, "write", std::move(done),
            [offset, from = std::move(from)](const LocalFile& self, int fd) {
              return self.WriteAll(fd, offset, from);
            });
}

Status LocalFile::WriteAll(int fd, uint64_t offset, const Slice& from) const {
  const ByteSpan bytes = from.span();
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t n =
        pwrite(fd, bytes.data() + written, bytes.size() - written, static_cast<off_t>(offset + written));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed(errno, "write");
    written += static_cast<size_t>(n);
  }
  return OkStatus();
}

void LocalFile::Sync(OpContext context, Done<void> done) {
  Run<void>(context, "sync", std::move(done), [](const LocalFile& self, int fd) { return self.SyncAll(fd); });
}

Status LocalFile::SyncAll(int fd) const {
  if (fdatasync(fd) != 0) return Failed(errno, "sync");
  for (const std::string& directory : name_directories_) {
    const int error = SyncDirectory(root_->get(), directory);
    // The directory was renamed meanwhile: whatever the name is now, the file system as a whole holds it.
    if (error == ENOENT && syncfs(fd) == 0) continue;
    if (error != 0) return Failed(error, "sync the directory of");
  }
  return OkStatus();
}

void LocalFile::Close(OpContext, Done<void> done) {
  Fd file;
  {
    MutexLock lock(mutex_);
    file = std::exchange(file_, nullptr);
  }
  // A close is executed even when late: it frees the handle.
  threads_->Post([self = shared_from_this(), file = std::move(file), done = std::move(done)]() mutable {
    if (!file) return done(Fail(Code::kCancelled, "close {}: it is closed already", self->description_));
    // A request given up on may still use the handle; it is then closed with the last of them, and its
    // delayed errors interest nobody any more.
    const bool last = file.use_count() == 1;
    if (last && close(file->release()) != 0) {
      Error error = self->Failed(errno, "close");
      if (error.code == Code::kUnavailable) error.code = Code::kUnreadable;
      return done(std::move(error));
    }
    file.reset();
    done(OkStatus());
  });
}

}  // namespace xec
