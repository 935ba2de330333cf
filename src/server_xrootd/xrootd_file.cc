// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server_xrootd/xrootd_file.hh"

#include <algorithm>
#include <limits>
#include <set>

#include "xrdcompat/status.hh"

namespace xec {
namespace {

// Stock servers accept 1,024 pieces of at most 2 MiB - 16 (`query config readv_iov_max`, readv_ior_max); a
// server with smaller buffers configured accepts less per piece.
constexpr size_t kVectorPiecesMax = 1024;
constexpr uint64_t kVectorPieceBytes = uint64_t{1} << 20;
// Lengths on the wire are signed 32-bit numbers.
constexpr uint64_t kRequestBytesMax = uint64_t{1} << 30;
constexpr int kAbandonedCloseSeconds = 30;

// `in_step`: the pieces of the last step. XrdCl gives the bytes of a piece to the first one like it, and
// takes a vector read that has one twice for badly answered.
void AddPiece(std::vector<ReadStep>& steps, std::set<std::pair<uint64_t, uint64_t>>& in_step, ByteRange piece,
              uint64_t into_offset, bool alone) {
  const std::pair<uint64_t, uint64_t> key(piece.offset, piece.length);
  const bool start = steps.empty() || alone || steps.back().pieces.size() == kVectorPiecesMax ||
                     steps.back().length + piece.length > kRequestBytesMax || in_step.contains(key);
  if (start) {
    steps.push_back(ReadStep{{}, into_offset, 0});
    in_step.clear();
  }
  in_step.insert(key);
  steps.back().pieces.push_back(piece);
  steps.back().length += piece.length;
}

std::vector<ByteRange> JoinNeighbours(const std::vector<ByteRange>& ranges) {
  std::vector<ByteRange> joined;
  for (const ByteRange& range : ranges) {
    if (range.length == 0) continue;
    if (!joined.empty() && joined.back().offset + joined.back().length == range.offset) {
      joined.back().length += range.length;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace

std::vector<ReadStep> PlanRead(const std::vector<ByteRange>& ranges, uint64_t file_size) {
  const std::vector<ByteRange> joined = JoinNeighbours(ranges);
  std::vector<ReadStep> steps;
  std::set<std::pair<uint64_t, uint64_t>> in_step;
  uint64_t into_offset = 0;
  bool previous_alone = false;
  for (const ByteRange& range : joined) {
    const bool beyond_end = range.length > file_size || range.offset > file_size - range.length;
    const bool alone = beyond_end || joined.size() == 1;
    const uint64_t piece_max = alone ? kRequestBytesMax : kVectorPieceBytes;
    for (uint64_t done = 0; done < range.length;) {
      const uint64_t length = std::min(piece_max, range.length - done);
      AddPiece(steps, in_step, ByteRange{range.offset + done, length}, into_offset, alone || previous_alone);
      previous_alone = alone;
      done += length;
      into_offset += length;
    }
  }
  return steps;
}

struct XrootdFile::ReadJob {
  OpContext context;
  std::vector<ReadStep> steps;
  Slice into;
  Done<uint64_t> done;
  size_t next = 0;
  uint64_t bytes_read = 0;
};

XrootdFile::XrootdFile(ServerCorePtr core, ServerUsePtr use, std::string path, OpenMode mode)
    : core_(std::move(core)),
      use_(std::move(use)),
      path_(std::move(path)),
      mode_(mode),
      file_(new XrdCl::File(/*enablePlugIns=*/false)) {
  file_->SetProperty("ReadRecovery", "false");
  file_->SetProperty("WriteRecovery", "false");
  file_->SetProperty("FollowRedirects", "false");
}

XrootdFile::~XrootdFile() {
  if (!file_->IsOpen()) return;
  // Both closures own the File: the answer may come, and be dealt with, before Close returns.
  SendRequest(
      core_->gate(),
      [file = file_](XrdCl::ResponseHandler* handler) {
        return file->Close(handler, kAbandonedCloseSeconds);
      },
      [file = file_, core = core_](const Reply&) {});
}

Error XrootdFile::Failed(const Reply& reply, const char* verb) const {
  return ToError(*reply.status, core_->Describe(verb, path_));
}

template <typename T>
void XrootdFile::Refuse(Done<T> done) {
  Error error = Fail(Code::kCancelled, "{}: it is closed", core_->Describe("use", path_));
  core_->gate()->Post(
      [done = std::move(done), error = std::move(error)]() mutable { done(std::move(error)); });
}

template <typename T>
bool XrootdFile::Begin(Done<T>& done) {
  {
    MutexLock lock(mutex_);
    if (!closing_) {
      ++in_flight_;
      return true;
    }
  }
  Refuse(std::move(done));
  return false;
}

void XrootdFile::Send(Submit submit, OnReply on_reply) {
  // The answer may come, and the last other owner go, before the submitting call returns.
  const std::shared_ptr<XrootdFile> self = shared_from_this();
  SendRequest(core_->gate(), std::move(submit), [self, on_reply = std::move(on_reply)](Reply reply) mutable {
    self->RequestEnded();
    on_reply(std::move(reply));
  });
}

void XrootdFile::RequestEnded() {
  Closure close;
  {
    MutexLock lock(mutex_);
    if (--in_flight_ == 0) close = std::move(close_when_idle_);
  }
  if (close) close();
}

void XrootdFile::Open(OpContext context, Done<std::shared_ptr<ArchiveFile>> done) {
  OpenAt(core_->FileUrl(path_), context, std::move(done));
}

void XrootdFile::OpenAt(std::string url, OpContext context, Done<std::shared_ptr<ArchiveFile>> done) {
  using XrdCl::Access;
  using XrdCl::OpenFlags;
  if (!Begin(done)) return;
  const bool create = mode_ == OpenMode::kCreate;
  const OpenFlags::Flags flags =
      create ? OpenFlags::New | OpenFlags::MakePath | OpenFlags::Update : OpenFlags::Read;
  const Access::Mode access = create ? Access::UR | Access::UW | Access::GR | Access::OR : Access::None;
  Send([this, url = std::move(url), flags, access, timeout = core_->Timeout(context)](
           XrdCl::ResponseHandler* handler) { return file_->Open(url, flags, access, handler, timeout); },
       [this, create, done = std::move(done)](Reply reply) mutable {
         if (!reply.ok()) return done(Failed(reply, create ? "create" : "open"));
         if (!create) {
          // Cached by the open; not a request.
           XrdCl::StatInfo* info = nullptr;
           const XrdCl::XRootDStatus status = file_->Stat(/*force=*/false, info);
           const std::unique_ptr<XrdCl::StatInfo> owned(info);
           if (!status.IsOK() || info == nullptr)
             return done(ToError(status, core_->Describe("size of", path_)));
           size_ = info->GetSize();
         }
         done(std::shared_ptr<ArchiveFile>(shared_from_this()));
       });
}

void XrootdFile::Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) {
  auto job = std::make_shared<ReadJob>();
  job->context = context;
  job->steps = PlanRead(ranges, size_);
  job->into = std::move(into);
  job->done = std::move(done);
  uint64_t total = 0;
  for (const ReadStep& step : job->steps) total += step.length;
  XEC_CHECK(total <= job->into.length, "read of {} bytes into {}", total, job->into.length);
  if (job->steps.empty()) {
    core_->gate()->Post([job] { job->done(uint64_t{0}); });
    return;
  }
  NextRead(std::move(job));
}

void XrootdFile::NextRead(std::shared_ptr<ReadJob> job) {
  if (!Begin(job->done)) return;
  const ReadStep& step = job->steps[job->next];
  std::byte* target = job->into.buffer->data() + job->into.offset + step.into_offset;
  Send(
      [this, &step, target, timeout = core_->Timeout(job->context)](XrdCl::ResponseHandler* handler) {
        if (step.pieces.size() == 1) {
          return file_->Read(step.pieces[0].offset, static_cast<uint32_t>(step.length), target, handler,
                             timeout);
        }
        XrdCl::ChunkList chunks;
        for (const ByteRange& piece : step.pieces) {
          chunks.emplace_back(piece.offset, static_cast<uint32_t>(piece.length));
        }
        return file_->VectorRead(chunks, target, handler, timeout);
      },
      [this, job, &step](Reply reply) {
        if (!reply.ok()) return job->done(ToReadError(*reply.status, core_->Describe("read", path_)));
        uint64_t got = 0;
        if (step.pieces.size() == 1) {
          if (const auto* chunk = reply.Get<XrdCl::ChunkInfo>()) got = chunk->length;
        } else if (const auto* info = reply.Get<XrdCl::VectorReadInfo>()) {
          got = info->GetSize();
        }
        job->bytes_read += got;
        if (got < step.length || ++job->next == job->steps.size()) return job->done(job->bytes_read);
        NextRead(job);
      });
}

void XrootdFile::Write(OpContext context, uint64_t offset, Slice from, Done<void> done) {
  if (from.length == 0 || from.length > kRequestBytesMax) {
    Status status;
    if (from.length != 0)
      status = Fail(Code::kInvalidArgument, "a write of {} bytes is too long", from.length);
    core_->gate()->Post([done = std::move(done), status]() mutable { done(status); });
    return;
  }
  if (!Begin(done)) return;
  const void* source = from.span().data();
  const auto length = static_cast<uint32_t>(from.length);
  Send(
      [this, offset, length, source, timeout = core_->Timeout(context)](XrdCl::ResponseHandler* handler) {
        return file_->Write(offset, length, source, handler, timeout);
      },
      [this, from, done = std::move(done)](Reply reply) mutable {
        from = Slice();
        done(reply.ok() ? OkStatus() : Status(Failed(reply, "write")));
      });
}

void XrootdFile::Sync(OpContext context, Done<void> done) {
  if (!Begin(done)) return;
  Send([this, timeout = core_->Timeout(context)](
           XrdCl::ResponseHandler* handler) { return file_->Sync(handler, timeout); },
       [this, done = std::move(done)](Reply reply) mutable {
         done(reply.ok() ? OkStatus() : Status(Failed(reply, "sync")));
       });
}

void XrootdFile::Close(OpContext context, Done<void> done) {
  {
    MutexLock lock(mutex_);
    if (std::exchange(closing_, true)) {
      lock.Unlock();
      return Refuse(std::move(done));
    }
    if (in_flight_ > 0) {
      close_when_idle_ = [self = shared_from_this(), context, done = std::move(done)]() mutable {
        self->SendClose(context, std::move(done));
      };
      return;
    }
  }
  SendClose(context, std::move(done));
}

void XrootdFile::SendClose(OpContext context, Done<void> done) {
  {
    MutexLock lock(mutex_);
    ++in_flight_;
  }
  Send([this, timeout = core_->Timeout(context)](
           XrdCl::ResponseHandler* handler) { return file_->Close(handler, timeout); },
       [this, done = std::move(done)](Reply reply) mutable {
         if (!reply.ok()) return done(ToCloseError(*reply.status, core_->Describe("close", path_)));
         // Without an answer from the server nobody knows what became of the last writes.
         if (!reply.from_server && mode_ == OpenMode::kCreate) {
           return done(Fail(Code::kUnavailable, "{} failed: the connection was lost",
                            core_->Describe("close", path_)));
         }
         done(OkStatus());
       });
}

}  // namespace xec
