// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/name_sync.hh"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/random.hh"
#include "base/text.hh"
#include "server_xrootd/listing.hh"
#include "xrdcompat/status.hh"

namespace xec {
namespace {

// Then another file follows.
constexpr uint64_t kFileBytesMax = 1 << 20;

// In the reserved area; only until it is open.
constexpr const char* kFolder = "/.xec";
constexpr std::string_view kPrefix = "sync.";
std::string NewName() { return fmt::format("{}{:016x}", kPrefix, SystemSeed()); }

// A name that is so much older than the one just made was left by a process that died between the two
// requests, which take seconds. Were that one only asleep: it needs the name no more.
constexpr std::chrono::seconds kLeftAfter = std::chrono::hours(1);
constexpr size_t kLeftRemovedMax = 100;  // the next file finds more

std::string PathOf(const std::string& name) { return fmt::format("{}/{}", kFolder, name); }

// Both times are the server's.
std::vector<std::string> LeftBehind(const std::vector<Entry>& entries, const std::string& ours) {
  std::vector<std::string> names;
  const auto own =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == ours; });
  if (own == entries.end()) return names;
  for (const Entry& entry : entries) {
    const bool old = own->mtime_s - entry.mtime_s > kLeftAfter.count();
    const bool like_ours = entry.name.size() == ours.size() && entry.name.starts_with(kPrefix) &&
                           ParseHex(std::string_view(entry.name).substr(kPrefix.size()));
    if (old && like_ours && !entry.directory && names.size() < kLeftRemovedMax) names.push_back(entry.name);
  }
  return names;
}

}  // namespace

void NameSync::Wait(OpContext context, Done<void> done) {
  auto round = std::make_shared<Round>();
  {
    MutexLock lock(mutex_);
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
    MutexLock lock(mutex_);
    if (length_ >= kFileBytesMax) full = std::move(file_);
    file = file_;
  }
  if (file) return Append(std::move(round), std::move(file));
  OpenFile(std::move(round));
}

void NameSync::OpenFile(std::shared_ptr<Round> round) {
  const std::string name = NewName();
  const std::string path = PathOf(name);
  const OpContext context = round->context;
  std::make_shared<XrootdFile>(core_, use_, path, OpenMode::kCreate)
      ->OpenAt(core_->SyncUrl(path), context,
               [self = shared_from_this(), round, name](Result<std::shared_ptr<ArchiveFile>> opened) {
                 if (!opened) return self->End(round, opened.error());
                 {
                   MutexLock lock(self->mutex_);
                   self->file_ = *opened;
                   self->length_ = 0;
                 }
                 self->RemoveNames(round, *opened, name);
               });
}

// Without a name there is nothing to clean up, whatever becomes of this process; of others there may be.
void NameSync::RemoveNames(std::shared_ptr<Round> round, std::shared_ptr<ArchiveFile> file,
                           std::string name) {
  const OpContext context = round->context;
  ListDirectory(core_, context, kFolder,
                [self = shared_from_this(), round, file, name](Result<std::vector<Entry>> listed) {
                  const auto ignore = [](const Reply&) {};
                  if (listed) {
                    for (const std::string& left : LeftBehind(*listed, name))
                      self->Remove(round, left, ignore);
                  }
                  self->Remove(round, name, [self, round, file](const Reply& reply) {
                    // XrdCl may have asked twice, or somebody took it for left behind.
                    const bool gone = reply.ok() || CodeOf(*reply.status) == Code::kNotFound;
                    if (gone) return self->Append(round, file);
                    self->End(round, ToError(*reply.status, self->core_->Describe("remove", "a file")));
                  });
                });
}

void NameSync::Remove(const std::shared_ptr<Round>& round, const std::string& name, OnReply on_reply) {
  SendRequest(
      core_->gate(),
      [&](XrdCl::ResponseHandler* handler) {
        return core_->filesystem().Rm(core_->ServerPath(PathOf(name)), handler,
                                      core_->Timeout(round->context));
      },
      std::move(on_reply));
}

// At the end of the file: only a new length is sure to be younger than the names in the journal, since times
// have too coarse a grain.
void NameSync::Append(std::shared_ptr<Round> round, std::shared_ptr<ArchiveFile> file) {
  const Slice byte(Buffer::Allocate(1));
  byte.span()[0] = std::byte{0};
  uint64_t at = 0;
  {
    MutexLock lock(mutex_);
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
  const bool lost =
      !status && (status.code() == Code::kDeadlineExceeded || status.code() == Code::kUnavailable);
  if (!status && !lost) status = Fail(Code::kUnknown, "a power cut may undo it: {}", status.error().message);
  auto next = std::make_shared<Round>();
  std::shared_ptr<ArchiveFile> broken;  // goes without the lock
  {
    MutexLock lock(mutex_);
    if (!status) broken = std::move(file_);
    next->waiters.swap(waiting_);
    running_ = !next->waiters.empty();
  }
  for (Waiter& waiter : round->waiters) waiter.done(status);
  if (!next->waiters.empty()) Start(std::move(next));
}

}  // namespace xec
