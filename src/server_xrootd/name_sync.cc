// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/name_sync.hh"

#include <algorithm>
#include <cstring>

#include "base/random.hh"
#include "xrdcompat/status.hh"

namespace xec {
namespace {

// Then another file follows.
constexpr uint64_t kFileBytesMax = 1 << 20;

// In the reserved area; only until it is open.
std::string NewPath() { return fmt::format("/.xec/sync.{:016x}", SystemSeed()); }

}  // namespace

void NameSync::Wait(OpContext context, Done<void> done) {
  auto round = std::make_shared<Round>();
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back({context, std::move(done)});
    // The round under way may have synced before this name was made.
    if (std::exchange(running_, true)) return;
    round->waiters.swap(waiting_);
  }
  Start(std::move(round));
}

void NameSync::Start(std::shared_ptr<Round> round) {
  round->context.deadline = TimePoint{};
  for (const Waiter& waiter : round->waiters)
    round->context.deadline = std::max(round->context.deadline, waiter.context.deadline);
  std::shared_ptr<ArchiveFile> file, full;
  {
    std::lock_guard lock(mutex_);
    if (length_ >= kFileBytesMax) full = std::move(file_);
    file = file_;
  }
  if (file) return Append(std::move(round), std::move(file));
  OpenFile(std::move(round));
}

void NameSync::OpenFile(std::shared_ptr<Round> round) {
  const std::string path = NewPath();
  const OpContext context = round->context;
  std::make_shared<XrootdFile>(core_, use_, path, OpenMode::kCreate)
      ->OpenAt(core_->SyncUrl(path), context,
               [self = shared_from_this(), round, path](Result<std::shared_ptr<ArchiveFile>> opened) {
                 if (!opened) return self->End(round, opened.error());
                 {
                   std::lock_guard lock(self->mutex_);
                   self->file_ = *opened;
                   self->length_ = 0;
                 }
        // Without a name there is nothing to clean up, whatever becomes of this process.
                 SendRequest(
                     self->core_->gate(),
                     [&](XrdCl::ResponseHandler* handler) {
                       return self->core_->filesystem().Rm(self->core_->ServerPath(path), handler,
                                                           self->core_->Timeout(round->context));
                     },
                     [self, round, file = *opened](Reply reply) {
                       if (!reply.ok())
                         return self->End(round,
                                          ToError(*reply.status, self->core_->Describe("remove", "a file")));
                       self->Append(round, file);
                     });
               });
}

// At the end of the file: only a new length is sure to be younger than the names in the journal, since times
// have too coarse a grain.
void NameSync::Append(std::shared_ptr<Round> round, std::shared_ptr<ArchiveFile> file) {
  const Slice byte(Buffer::Allocate(1));
  byte.span()[0] = std::byte{0};
  uint64_t at = 0;
  {
    std::lock_guard lock(mutex_);
    at = length_++;
  }
  const OpContext context = round->context;
  file->Write(context, at, byte, [self = shared_from_this(), round, file](Status written) {
    if (!written) return self->End(round, written);
    file->Sync(round->context, [self, round](Status synced) { self->End(round, synced); });
  });
}

void NameSync::End(const std::shared_ptr<Round>& round, Status status) {
  // A full disk, say; but what was waited for has happened.
  const bool lost = status.code() == Code::kDeadlineExceeded || status.code() == Code::kUnavailable;
  if (!status && !lost) status = Fail(Code::kUnknown, "a power cut may undo it: {}", status.error().message);
  auto next = std::make_shared<Round>();
  std::shared_ptr<ArchiveFile> broken;  // goes without the lock
  {
    std::lock_guard lock(mutex_);
    if (!status) broken = std::move(file_);
    next->waiters.swap(waiting_);
    running_ = !next->waiters.empty();
  }
  for (Waiter& waiter : round->waiters) waiter.done(status);
  if (!next->waiters.empty()) Start(std::move(next));
}

}  // namespace xec
