// SPDX-License-Identifier: LGPL-3.0-or-later
// EditBytes: the bytes of an edit that is no stream: changes in scratch, over a base, over zeros.
#pragma once

#include <memory>

#include "api/handles.hh"
#include "edit/scratch.hh"
#include "runtime/task_lock.hh"

namespace xec {

// So many separate changes an edit has; then the smallest gap between two is filled with what lies beneath.
constexpr size_t kExtentsMax = size_t{64} << 10;
// Unless it is larger, in bytes.
constexpr uint64_t kGapFilledMax = uint64_t{1} << 20;

// Any number of reads may run at once, anything else alone.
class EditBytes {
 public:
  explicit EditBytes(Scratch& scratch, size_t extents_max = kExtentsMax)
      : scratch_(scratch), extents_max_(extents_max), file_(scratch) {}

  // The base; after Clear.
  void SetBase(std::shared_ptr<ReadHandle> version);
  void SetBase(std::unique_ptr<WriteHandle> ended_stream);
  // Without changes and base, and of no size. A stream has been abandoned then: as long as its archives
  // stand, nobody else can replace what it was to replace.
  Task<void> Clear();

  uint64_t size() const { return size_; }
  // Bytes of the base that still count: those behind the smallest size since are gone.
  uint64_t base_bytes() const { return base_bytes_; }
  bool stands_on_stream() const { return ended_stream_ != nullptr; }
  // Is it just what the base has?
  bool IsBase() const;
  // The base that is a stream; nothing is left.
  std::unique_ptr<WriteHandle> TakeStream();
  // Brings what a stream has of it into scratch, and abandons the stream. Errors, after which the stream
  // stays: as Read and ScratchFile::Write.
  Task<Status> LeaveStream();
  const ExtentSet& changes() const { return file_.extents(); }

  // All of `into`, which lies within the size. Errors: those of ReadHandle::Read and ScratchFile::Read.
  Task<Status> Read(uint64_t offset, MutableByteSpan into);
  // Errors, after which nothing is changed: those of ScratchFile::Write; of Read, where a gap has to be
  // filled; kNoSpace where all are too large for that.
  Task<Status> Write(uint64_t offset, ByteSpan bytes);
  Task<void> Truncate(uint64_t size);
  // Waits for the memory of an upload before anything is appended to it. Errors: those of
  // WriteHandle::Reserve.
  Task<Status> Admit(WriteHandle& upload);
  // Admits the upload and appends everything to it. Errors: those of Read and of WriteHandle::Append.
  Task<Status> CopyTo(WriteHandle& upload);

 private:
  Task<Status> ReadBase(uint64_t offset, MutableByteSpan into);
  // What is there and lies below comes into scratch. Errors: those of Read and ScratchFile::Write.
  Task<Status> ToScratch(uint64_t begin, uint64_t end);
  Task<Status> MakeRoomForOne();

  Scratch& scratch_;
  const size_t extents_max_;
  std::shared_ptr<ReadHandle> version_;
  std::unique_ptr<WriteHandle> ended_stream_;
  TaskLock stream_turn_;  // a handle takes one call after another
  uint64_t base_bytes_ = 0;
  uint64_t size_ = 0;
  ScratchFile file_;
};

}  // namespace xec
