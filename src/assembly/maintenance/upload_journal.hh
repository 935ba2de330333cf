// SPDX-License-Identifier: LGPL-3.0-or-later
// UploadJournal: the uploads of this process that are under way, in a file on its machine, and those that
// processes left there which were killed. The file is not synced: it outlives the process, not the machine.
//
//   FOLDER/STORE_ID.NONCE      locked (flock) as long as its process lives
//   +OBJECT_ID PATH            an upload begins
//   -OBJECT_ID                 it has ended
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "commit/engine/upload_notes.hh"
#include "runtime/io_threads.hh"
#include "runtime/task.hh"
#include "server/kinds/local_root.hh"

namespace xec {

// Thread-safe. The disk is used by a thread of its own, since it may hang.
class UploadJournal final : public UploadNotes {
 public:
  // Lines that wait for the disk; further ones are dropped.
  static constexpr size_t kWaitingMax = 10'000;
  // The file is written anew, with what is under way, after so many bytes.
  static constexpr uint64_t kFileBytes = 1 << 20;
  // A longer file of another process is not believed.
  static constexpr uint64_t kDeadFileBytesMax = 64 << 20;

  // `folder` is made, and the file in it, with the first upload. Where it cannot be written the log says so,
  // once.
  UploadJournal(std::string folder, std::string store_id);
  // Removes the file if nothing is under way.
  ~UploadJournal() override;

  void Begun(const ObjectPath& path, const std::string& object_id) override;
  void Ended(const std::string& object_id) override;

  // What a process of this store left that has died. Nobody else gets it, as long as this exists.
  struct Left {
    std::string file;
    UniqueFd lock;
    std::map<std::string, std::string> uploads;  // path by object id
  };
  // nullopt: there is none.
  Task<std::optional<Left>> TakeLeft();
  // It is done with.
  Task<void> Remove(Left left);

 private:
  // What the thread uses.
  struct File {
    std::string folder;
    std::string store_id;
    std::string path = {};
    UniqueFd fd = {};
    uint64_t bytes = 0;
    std::map<std::string, std::string> open = {};  // path by object id
    bool told = false;  // that it cannot be written

    void Write(std::string line);
    bool Create();
    std::optional<Left> TakeLeft() const;
  };

  void Post(Closure work);

  std::atomic<size_t> waiting_ = 0;
  File file_;
  IoThreads thread_{"xec-uploads", 1};  // ends first
};

// The uploads of a journal that have not ended; lines that are none are passed over.
std::map<std::string, std::string> ParseUploadJournal(std::string_view text);

}  // namespace xec
