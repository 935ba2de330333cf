// SPDX-License-Identifier: LGPL-3.0-or-later
// UploadNotes: where a process notes which of its uploads are under way. If it is killed, a later process
// gives these up at once (GiveUpUploads), so that they stand in nobody's way until the upload grace time is
// over.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "protocol/object_path.hh"

namespace xec {

// Thread-safe; neither call blocks. A note that is lost costs others the upload grace time.
class UploadNotes {
 public:
  virtual ~UploadNotes() = default;
  virtual void Begun(const ObjectPath& path, const std::string& object_id) = 0;
  virtual void Ended(const std::string& object_id) = 0;
};

// One upload, as long as it lives: from before its first archive until its outcome needs nobody's help.
class UploadNote {
 public:
  UploadNote() = default;
  // `notes` may be null.
  UploadNote(std::shared_ptr<UploadNotes> notes, const ObjectPath& path, std::string object_id)
      : notes_(std::move(notes)), object_id_(std::move(object_id)) {
    if (notes_) notes_->Begun(path, object_id_);
  }
  UploadNote(UploadNote&& other) noexcept
      : notes_(std::exchange(other.notes_, nullptr)), object_id_(std::move(other.object_id_)) {}
  UploadNote& operator=(UploadNote&&) = delete;
  ~UploadNote() {
    if (notes_) notes_->Ended(object_id_);
  }

 private:
  std::shared_ptr<UploadNotes> notes_;
  std::string object_id_;
};

}  // namespace xec
