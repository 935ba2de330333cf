// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/prepared_edit.hh"

#include "runtime/sync_wait.hh"

namespace xec {

PreparedEdit::~PreparedEdit() { scope_.Drain(); }

Task<void> PreparedEdit::Run() {
  Status answer = co_await edit_->Prepare();
  MutexLock lock(mutex_);
  if (!changed_since_) answer_ = std::move(answer);
  running_ = false;
  ended_.NotifyAll();
}

bool PreparedEdit::Prepare(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  MutexLock lock(mutex_);
  if (answer_) return true;
  if (!std::exchange(running_, true)) {
    changed_since_ = false;
    lock.Unlock();
    scope_.Spawn(Run());
    lock.Lock();
  }
  while (running_ && ended_.WaitUntil(mutex_, until)) {
  }
  return answer_.has_value();
}

void PreparedEdit::NoteChange() {
  MutexLock lock(mutex_);
  answer_.reset();
  changed_since_ = true;
}

bool PreparedEdit::prepared() const {
  MutexLock lock(mutex_);
  return answer_.has_value();
}

Status PreparedEdit::Commit() {
  {
    MutexLock lock(mutex_);
    const std::optional<Status> answer = std::exchange(answer_, std::nullopt);
    if (answer && !*answer) return *answer;
  }
  const Result<std::optional<Committed>> flushed = SyncWait(edit_->Flush());
  return flushed ? OkStatus() : Status(flushed.error());
}

}  // namespace xec
