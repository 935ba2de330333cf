// SPDX-License-Identifier: LGPL-3.0-or-later
// PreparedEdit: an edit whose client can be told to come back while bytes are copied for the commit, since a
// request that is not answered for a minute costs it its connection.
#pragma once

#include <chrono>
#include <memory>

#include "base/mutex.hh"
#include "edit/object_edit.hh"

namespace xec {

// Thread-safe. Calls block; not on engine threads.
class PreparedEdit {
 public:
  explicit PreparedEdit(std::unique_ptr<ObjectEdit> edit) : edit_(std::move(edit)) {}
  PreparedEdit(const PreparedEdit&) = delete;
  PreparedEdit& operator=(const PreparedEdit&) = delete;
  // Waits for what was begun.
  ~PreparedEdit();

  ObjectEdit& edit() { return *edit_; }

  // Goes on with ObjectEdit::Prepare, or begins it, and waits so long. True: it has ended.
  bool Prepare(std::chrono::milliseconds patience);
  // What was prepared is not all: a client that dies now has not asked for a commit of this.
  void NoteChange();
  // After that: what it answered, or what ObjectEdit::Flush does.
  Status Commit();
  // Has the client asked for a commit since the last one?
  bool prepared() const;

 private:
  Task<void> Run();

  const std::unique_ptr<ObjectEdit> edit_;
  mutable Mutex mutex_;
  CondVar ended_;
  bool running_ XEC_GUARDED_BY(mutex_) = false;
  bool changed_since_ XEC_GUARDED_BY(mutex_) = false;  // since it began to run
  std::optional<Status> answer_ XEC_GUARDED_BY(mutex_);
  TaskScope scope_;
};

}  // namespace xec
