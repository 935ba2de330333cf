// SPDX-License-Identifier: LGPL-3.0-or-later
// A random client of one object, which knows what it must read.
#pragma once

#include <random>

#include <gtest/gtest.h>

#include "edit/object_edit.hh"
#include "runtime/sync_wait.hh"

namespace xec {

inline std::string ReadText(ObjectEdit& edit, uint64_t offset, size_t size) {
  std::string bytes(size, '?');
  const auto got = SyncWait(edit.Read(offset, std::as_writable_bytes(std::span(bytes.data(), size))));
  EXPECT_TRUE(got) << got.error().message;
  bytes.resize(got ? *got : 0);
  return bytes;
}

class EditModel {
 public:
  struct Shape {
    uint32_t seed = 1;
    size_t size_max = 1000;  // of a write in the middle, a read or a truncation
    uint64_t tail_max = kTailInScratchMax;
  };
  EditModel(Store& store, Scratch& scratch, std::string path, Shape shape)
      : store_(store), scratch_(scratch), path_(std::move(path)), shape_(shape), random_(shape.seed) {
    Reopen();
  }

  // One operation, and what it must answer.
  void Step() {
    switch (random_() % 16) {
      case 0: return Truncate();
      case 1: return Flush();
      case 2:
        // Closes and opens, or forgets what was not flushed.
        if (random_() % 4 != 0) return Reopen();
        SyncWait(edit_->Drop());
        now_ = committed_;
        edit_.reset();
        return Reopen();
      case 3:
      case 4:
      case 5: return Write(Below(shape_.size_max));
      case 6:
      case 7:
      case 8: return Read();
      default: return Write(now_.size());
    }
  }

 private:
  size_t Below(size_t end) { return random_() % end; }

  void Reopen() {
    if (edit_) {
      const auto closed = SyncWait(edit_->Close());
      ASSERT_TRUE(closed) << closed.error().message;
      committed_ = now_;
      exists_ = true;
    }
    EditOptions options;
    options.tail_in_scratch_max = shape_.tail_max;
    options.create = true;
    // At first, or after a drop, nothing is promised of a name that nobody has committed.
    options.truncate = Below(4) == 0;
    auto edit = SyncWait(ObjectEdit::Open(store_, scratch_, path_, std::move(options)));
    ASSERT_TRUE(edit) << edit.error().message;
    edit_ = std::move(*edit);
    if (options.truncate) now_.clear();
    if (!exists_) now_.clear();
    ASSERT_EQ(edit_->size(), now_.size());
  }

  void Flush() {
    const auto flushed = SyncWait(edit_->Flush());
    ASSERT_TRUE(flushed) << flushed.error().message;
    committed_ = now_;
    exists_ = true;
    const auto there = SyncWait(store_.Stat(path_));
    ASSERT_TRUE(there) << there.error().message;
    ASSERT_EQ(there->size, now_.size());
  }

  void Truncate() {
    const size_t size = Below(3) == 0 ? 0 : Below(shape_.size_max);
    const Status cut = SyncWait(edit_->Truncate(size));
    ASSERT_TRUE(cut) << cut.error().message;
    now_.resize(size);
    ASSERT_EQ(edit_->size(), size);
  }

  void Write(size_t offset) {
    std::string bytes(Below(shape_.size_max / 4 + 1), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    if (offset + bytes.size() > 4 * shape_.size_max) return Truncate();
    const Status written = SyncWait(edit_->Write(offset, AsBytes(bytes)));
    ASSERT_TRUE(written) << written.error().message;
    if (!bytes.empty() && now_.size() < offset + bytes.size()) now_.resize(offset + bytes.size());
    now_.replace(bytes.empty() ? 0 : offset, bytes.size(), bytes);
    ASSERT_EQ(edit_->size(), now_.size());
  }

  void Read() {
    const size_t offset = Below(shape_.size_max), size = Below(shape_.size_max);
    const std::string wanted = offset < now_.size() ? now_.substr(offset, size) : "";
    ASSERT_TRUE(ReadText(*edit_, offset, size) == wanted) << offset << " " << size;
  }

  Store& store_;
  Scratch& scratch_;
  const std::string path_;
  const Shape shape_;
  std::minstd_rand random_;
  std::unique_ptr<ObjectEdit> edit_;
  std::string now_, committed_;
  bool exists_ = false;
};

}  // namespace xec
