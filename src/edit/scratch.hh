// SPDX-License-Identifier: LGPL-3.0-or-later
// Scratch: a local folder of a process in which changes of edits lie until they are a version. Its files have
// no names: what a crash leaves in it is nothing.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/bytes.hh"
#include "base/mutex.hh"
#include "base/result.hh"
#include "edit/extent_set.hh"
#include "runtime/io_threads.hh"
#include "runtime/task.hh"

namespace xec {

class ScratchFile;

// In such blocks local file systems give out their space.
constexpr uint64_t kScratchBlockBytes = 4096;

// Thread-safe. It outlives its files.
class Scratch {
 public:
  // The directory is made when the first file is, with those above it. The changes of all edits together have
  // at most `limit_bytes`, counted in whole blocks. Starts threads for the files: only after a daemon has
  // forked.
  Scratch(std::string directory, uint64_t limit_bytes, uint64_t block_bytes = kScratchBlockBytes);

  const std::string& directory() const { return directory_; }
  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const { return used_bytes_; }

  // Held by an edit that waits for the memory of its upload: whoever has other edits here may let those rest.
  class Waits {
   public:
    explicit Waits(Scratch& scratch) : scratch_(scratch) { ++scratch_.waiting_; }
    ~Waits() {
      --scratch_.waiting_;
      ++scratch_.waited_;
    }
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;

   private:
    Scratch& scratch_;
  };
  size_t waiting() const { return waiting_; }
  // So many waits have ended.
  uint64_t waited() const { return waited_; }

 private:
  friend class ScratchFile;
  // Error: kNoSpace.
  Status Take(uint64_t bytes);
  void GiveBack(uint64_t bytes) { used_bytes_ -= bytes; }
  // Blocks. The descriptor of a new file without a name. Errors: kNoSpace, kPermissionDenied, kUnavailable.
  Result<int> NewFile() const;

  const std::string directory_;
  const uint64_t limit_bytes_;
  const uint64_t block_bytes_;
  std::atomic<uint64_t> used_bytes_ = 0;
  std::atomic<size_t> waiting_ = 0;
  std::atomic<uint64_t> waited_ = 0;
  IoThreads threads_;
};

// The changed bytes of one edit, at their offsets. Any number of reads may run at once, anything else alone;
// all calls are awaited before the file goes.
class ScratchFile {
 public:
  explicit ScratchFile(Scratch& scratch) : scratch_(scratch) {}
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile();

  // Which bytes are there.
  const ExtentSet& extents() const { return extents_; }

  // Errors: kNoSpace (nothing is written then), kInvalidArgument (an offset that the file system cannot
  // have), as NewFile, kUnreadable. After them what was there and was to be overwritten is old or new.
  Task<Status> Write(uint64_t offset, ByteSpan bytes);
  // What is there, all of it. Error: kUnreadable.
  Task<Status> Read(uint64_t offset, MutableByteSpan into) const;
  // Forgets what lies at `size` and beyond.
  Task<void> Cut(uint64_t size);

 private:
  // Where the block ends that has the byte before `offset`.
  uint64_t BlockEnd(uint64_t offset) const;

  Scratch& scratch_;
  int file_ = -1;
  ExtentSet extents_;
  ExtentSet blocks_;  // of the file, which count; they cover the extents
};

}  // namespace xec
