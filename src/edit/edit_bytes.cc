// SPDX-License-Identifier: LGPL-3.0-or-later
#include "edit/edit_bytes.hh"

#include <algorithm>
#include <vector>

#include "base/units.hh"

namespace xec {
namespace {

// What is copied goes through the memory of the process in such pieces. The upload holds a claim of the
// budget between them, so a read must be so small that it needs none (byte_budget.hh). Readers fetch whole
// stripes ahead by themselves.
constexpr size_t kPieceBytes = 256 * kKiB;

}  // namespace

void EditBytes::SetBase(std::shared_ptr<ReadHandle> version) {
  size_ = base_bytes_ = version->size();
  version_ = std::move(version);
}

void EditBytes::SetBase(std::unique_ptr<WriteHandle> ended_stream) {
  size_ = base_bytes_ = ended_stream->size();
  ended_stream_ = std::move(ended_stream);
}

std::unique_ptr<WriteHandle> EditBytes::TakeStream() {
  base_bytes_ = size_ = 0;
  return std::move(ended_stream_);
}

Task<Status> EditBytes::LeaveStream() {
  if (!ended_stream_) co_return OkStatus();
  Status moved = co_await ToScratch(0, base_bytes_);
  if (!moved) co_return std::move(moved);
  co_await ended_stream_->Abandon();
  ended_stream_.reset();
  base_bytes_ = 0;
  co_return OkStatus();
}

Task<void> EditBytes::Clear() {
  version_.reset();
  if (ended_stream_) co_await ended_stream_->Abandon();
  ended_stream_.reset();
  base_bytes_ = size_ = 0;
  co_await file_.Cut(0);
}

bool EditBytes::IsBase() const {
  const uint64_t whole = ended_stream_ ? ended_stream_->size() : version_ ? version_->size() : 0;
  return file_.extents().empty() && size_ == base_bytes_ && size_ == whole;
}

Task<Status> EditBytes::ReadBase(uint64_t offset, MutableByteSpan into) {
  Result<uint64_t> got = uint64_t{0};
  if (version_) {
    got = co_await version_->Read(offset, into);
  } else {
    const TaskLock::Held turn = co_await stream_turn_.Take();
    got = co_await ended_stream_->ReadBack(offset, into);
  }
  if (!got) co_return got.error();
  if (*got != into.size())
    co_return Fail(Code::kInternal, "{} bytes came in place of {} at {}", *got, into.size(), offset);
  co_return OkStatus();
}

Task<Status> EditBytes::Read(uint64_t offset, MutableByteSpan into) {
  while (!into.empty()) {
    const ExtentSet::Run run = file_.extents().At(offset);
    uint64_t bytes = std::min<uint64_t>(into.size(), run.end - offset);
    Status read;
    if (run.present) {
      read = co_await file_.Read(offset, into.first(bytes));
    } else if (offset < base_bytes_) {
      bytes = std::min(bytes, base_bytes_ - offset);
      read = co_await ReadBase(offset, into.first(bytes));
    } else {
      std::ranges::fill(into.first(bytes), std::byte{0});
    }
    if (!read) co_return std::move(read);
    offset += bytes;
    into = into.subspan(bytes);
  }
  co_return OkStatus();
}

Task<Status> EditBytes::Write(uint64_t offset, ByteSpan bytes) {
  Status written = OkStatus();
  const bool is_one_more = !file_.extents().Touches(offset, offset + bytes.size());
  if (is_one_more && file_.extents().count() >= extents_max_) written = co_await MakeRoomForOne();
  if (written) written = co_await file_.Write(offset, bytes);
  if (written) size_ = std::max<uint64_t>(size_, offset + bytes.size());
  co_return std::move(written);
}

Task<Status> EditBytes::ToScratch(uint64_t begin, uint64_t end) {
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, end - begin));
  while (begin < end) {
    const MutableByteSpan now = MutableByteSpan(piece).first(std::min<uint64_t>(piece.size(), end - begin));
    Status moved = co_await Read(begin, now);
    if (moved) moved = co_await file_.Write(begin, now);
    if (!moved) co_return std::move(moved);
    begin += now.size();
  }
  co_return OkStatus();
}

// Two changes become one.
Task<Status> EditBytes::MakeRoomForOne() {
  const ExtentSet::Extent gap = file_.extents().SmallestGap();
  if (gap.end - gap.begin > kGapFilledMax) {
    co_return Fail(Code::kNoSpace,
                   "{} changes that are not flushed, far from each other, are all there may be",
                   extents_max_);
  }
  co_return co_await ToScratch(gap.begin, gap.end);
}

Task<void> EditBytes::Truncate(uint64_t size) {
  base_bytes_ = std::min(base_bytes_, size);
  size_ = size;
  if (size == 0) co_await Clear();
  if (size > 0) co_await file_.Cut(size);
}

Task<Status> EditBytes::Admit(WriteHandle& upload) {
  const Scratch::Waits waits(scratch_);
  co_return co_await upload.Reserve();
}

Task<Status> EditBytes::CopyTo(WriteHandle& upload) {
  // Of many that wait for their turn none holds anything.
  Status admitted = co_await Admit(upload);
  if (!admitted) co_return std::move(admitted);
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, size_));
  for (uint64_t offset = 0; offset < size_;) {
    const MutableByteSpan now =
        MutableByteSpan(piece).first(std::min<uint64_t>(piece.size(), size_ - offset));
    Status copied = co_await Read(offset, now);
    if (copied) copied = co_await upload.Append(now);
    if (!copied) co_return std::move(copied);
    offset += now.size();
  }
  co_return OkStatus();
}

}  // namespace xec
