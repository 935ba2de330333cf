// SPDX-License-Identifier: LGPL-3.0-or-later
#include "edit/scratch.hh"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include "base/units.hh"

namespace xec {
namespace {

// Enough for a disk that has several requests at once; each request is short.
constexpr int kThreads = 4;

std::string Words(int error) { return std::generic_category().message(error); }

Code CodeOf(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return Code::kNoSpace;
    case EFBIG:
    case EINVAL: return Code::kInvalidArgument;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case EIO: return Code::kUnreadable;
    default: return Code::kUnavailable;
  }
}

Error Failed(const Scratch& scratch, const char* verb, int error) {
  return Fail(CodeOf(error), "cannot {} scratch in {}: {}", verb, scratch.directory(), Words(error));
}

// Calls until all bytes are done; answers errno. A read that meets the end of the file is an error: what is
// there is known.
template <typename Call>
int All(uint64_t offset, size_t size, Call call) {
  for (size_t done = 0; done < size;) {
    const ssize_t now = call(done, size - done, static_cast<off_t>(offset + done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return now < 0 ? errno : EIO;
    done += static_cast<size_t>(now);
  }
  return 0;
}

// Runs it on the threads and waits for it.
template <typename Work>
Task<int> On(IoThreads& threads, Work work) {
  OneShot<int> done;
  threads.Post([&work, set = done.Setter()] { set(work()); });
  co_return co_await done;
}

}  // namespace

Scratch::Scratch(std::string directory, uint64_t limit_bytes, uint64_t block_bytes)
    : directory_(std::move(directory)),
      limit_bytes_(limit_bytes),
      block_bytes_(block_bytes),
      threads_("xec-scratch", kThreads) {}

Status Scratch::Take(uint64_t bytes) {
  uint64_t used = used_bytes_;
  do {
    if (bytes > limit_bytes_ - std::min(used, limit_bytes_)) {
      return Fail(Code::kNoSpace,
                  "scratch in {} is full: changes of {} that are not flushed are all it may have", directory_,
                  FormatSize(limit_bytes_));
    }
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
  return OkStatus();
}

Result<int> Scratch::NewFile() const {
  std::error_code ignored;  // what is wrong shows when the file is made
  std::filesystem::create_directories(directory_, ignored);
  const int nameless = open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (nameless >= 0) return nameless;
  std::string name = directory_ + "/edit.XXXXXX";  // a file system without nameless files
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named < 0) return Failed(*this, "use", errno);
  unlink(name.c_str());
  return named;
}

ScratchFile::~ScratchFile() {
  scratch_.GiveBack(blocks_.bytes());
  // To free the blocks of a large file takes its time.
  if (file_ >= 0) scratch_.threads_.Post([file = file_] { close(file); });
}

uint64_t ScratchFile::BlockEnd(uint64_t offset) const {
  return (offset + scratch_.block_bytes_ - 1) / scratch_.block_bytes_ * scratch_.block_bytes_;
}

Task<Status> ScratchFile::Write(uint64_t offset, ByteSpan bytes) {
  const uint64_t first_block = offset / scratch_.block_bytes_ * scratch_.block_bytes_;
  const uint64_t blocks_end = BlockEnd(offset + bytes.size());
  const uint64_t more = blocks_.Missing(first_block, blocks_end);
  const Status room = scratch_.Take(more);
  if (!room) co_return room.error();
  Status made;
  const int error = co_await On(scratch_.threads_, [&] {
    if (file_ < 0) {
      const Result<int> file = scratch_.NewFile();
      if (!file) made = file.error();
      if (!file) return 0;
      file_ = *file;
    }
    return All(offset, bytes.size(), [&](size_t done, size_t size, off_t at) {
      return pwrite(file_, bytes.data() + done, size, at);
    });
  });
  if (made && error == 0) {
    extents_.Add(offset, offset + bytes.size());
    blocks_.Add(first_block, blocks_end);
    co_return OkStatus();
  }
  scratch_.GiveBack(more);
  if (made) made = Failed(scratch_, "write to", error);
  co_return std::move(made);
}

Task<Status> ScratchFile::Read(uint64_t offset, MutableByteSpan into) const {
  const int error = co_await On(scratch_.threads_, [&] {
    return All(offset, into.size(), [&](size_t done, size_t size, off_t at) {
      return pread(file_, into.data() + done, size, at);
    });
  });
  if (error != 0) co_return Failed(scratch_, "read from", error);
  co_return OkStatus();
}

Task<void> ScratchFile::Cut(uint64_t size) {
  if (size >= blocks_.end()) co_return;
  const uint64_t before = blocks_.bytes();
  extents_.Cut(size);
  blocks_.Cut(BlockEnd(size));
  scratch_.GiveBack(before - blocks_.bytes());
  const int error = co_await On(scratch_.threads_,
                                [&] { return ftruncate(file_, static_cast<off_t>(size)) == 0 ? 0 : errno; });
  (void)error;  // what is cut is not read any more, and goes with the file
}

}  // namespace xec
