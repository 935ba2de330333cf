// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/xrootd_file.hh"

#include <algorithm>

namespace xec {

Result<uint64_t> XrootdReader::Read(uint64_t offset, MutableByteSpan into) {
  for (bool again = true;; again = false) {
    XEC_ASSIGN_OR_RETURN(const std::shared_ptr<OpenFile> open, file_.Use());
    Result<uint64_t> got = open->Read(offset, into);
    if (got || !IsLost(got.code())) return got;
    file_.Lost(open);
    // A program waits once for a server that is silent, not twice.
    if (!again || got.code() == Code::kDeadlineExceeded) return got;
  }
}

XrootdEdit::XrootdEdit(std::shared_ptr<OpenFile> open, RemoteFile::Again again, Look look, bool cut)
    : file_(open, std::move(again)),
      look_(std::move(look)),
      size_(cut ? 0 : open->told().entry.size),
      version_(open->told().entry.version),
      changed_(cut) {}

uint64_t XrootdEdit::size() const {
  const MutexLock lock(mutex_);
  return size_;
}

std::string XrootdEdit::version() const {
  const MutexLock lock(mutex_);
  return version_;
}

bool XrootdEdit::changed() const {
  const MutexLock lock(mutex_);
  return changed_;
}

Status XrootdEdit::Broken() const {
  const MutexLock lock(mutex_);
  return broken_ ? Status(*broken_) : OkStatus();
}

void XrootdEdit::Changed(uint64_t size_at_least) {
  const MutexLock lock(mutex_);
  changed_ = true;
  size_ = std::max(size_, size_at_least);
}

template <typename F>
auto XrootdEdit::OnFile(F request) -> decltype(request(std::declval<OpenFile&>())) {
  for (bool again = true;; again = false) {
    XEC_TRY(Broken());
    XEC_ASSIGN_OR_RETURN(const std::shared_ptr<OpenFile> open, file_.Use());
    auto answer = request(*open);
    if (answer || !IsLost(answer.code())) return answer;
    file_.Lost(open);
    const MutexLock lock(mutex_);
    if (changed_ && !broken_) broken_ = answer.error();
    if (changed_ || !again || answer.code() == Code::kDeadlineExceeded) return answer;
  }
}

Result<uint64_t> XrootdEdit::Read(uint64_t offset, MutableByteSpan into) {
  return OnFile([&](OpenFile& open) { return open.Read(offset, into); });
}

Status XrootdEdit::Write(uint64_t offset, ByteSpan bytes) {
  const Status written = OnFile([&](OpenFile& open) { return open.Write(offset, bytes); });
  if (written) Changed(offset + bytes.size());
  return written;
}

Status XrootdEdit::Truncate(uint64_t size) {
  const Status cut = OnFile([&](OpenFile& open) { return open.Truncate(size); });
  if (!cut) return cut;
  const MutexLock lock(mutex_);
  changed_ = true;
  size_ = size;
  return cut;
}

Result<bool> XrootdEdit::SetSettings(const Settings& settings) {
  return OnFile([&](OpenFile& open) { return open.SetSettings(settings); });
}

Result<std::string> XrootdEdit::Commit() {
  if (!changed()) return version();
  XEC_TRY(OnFile([&](OpenFile& open) { return open.Sync(); }));
  if (const std::shared_ptr<OpenFile> open = file_.Take("")) {
    const Status closed = open->Close();
    if (!closed) {
      const MutexLock lock(mutex_);
      broken_ = closed.error();
      return closed.error();
    }
  }
  const Result<Told> told = look_();
  const MutexLock lock(mutex_);
  changed_ = false;
  // Somebody may have removed or replaced it since; a name for the version that nothing else has will do.
  version_ = told ? told->entry.version : version_ + "+";
  return version_;
}

void XrootdEdit::CloseIfIdleSince(TimePoint time) {
  if (!changed()) file_.CloseIfIdleSince(time);
}

}  // namespace xec
