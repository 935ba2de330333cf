// SPDX-License-Identifier: LGPL-3.0-or-later
// UploadLine: uploads that have been opened but have no memory yet. A client whose request is not answered
// for a minute gives its connection up, and nothing can be sent to it from inside a write; an open, though,
// may be answered with "ask again in a second". So uploads stand in line before they start, and a client that
// asks again finds its place.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "object/object_writer.hh"
#include "runtime/task.hh"

namespace xec {

class UploadLine {
 public:
  // An open waits `patience` before its client is told to ask again; who has not asked again for as long as a
  // reservation is kept has lost its place.
  explicit UploadLine(std::chrono::milliseconds patience = std::chrono::seconds(10)) : patience_(patience) {}
  UploadLine(const UploadLine&) = delete;
  UploadLine& operator=(const UploadLine&) = delete;
  // Blocks until all in the line have got their memory. Gateways live as long as the daemon.
  ~UploadLine();

  using Admission = Result<std::unique_ptr<ObjectWriter>>;

  // Puts a new upload into the line and waits. `key` tells uploads of different clients and names apart. A
  // null writer: still in the line, ask again. Errors: as ObjectWriter::Reserve.
  Admission Enter(const std::string& key, std::unique_ptr<ObjectWriter> writer);

  // Is there an upload of this key in the line?
  bool Has(const std::string& key);

  // Goes on waiting with an upload that is in the line; as Enter. A null writer also if it is there no more.
  Admission AskAgain(const std::string& key);

  size_t size() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Place {
    std::unique_ptr<ObjectWriter> writer;
    TimePoint asked;  // guarded by mutex_, as the next
    std::optional<Status> reserved;
  };
  using PlacePtr = std::shared_ptr<Place>;
  Task<void> Reserve(PlacePtr place);
  Admission Wait(std::unique_lock<std::mutex> lock, const std::string& key);

  const std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, PlacePtr> places_;  // guarded by mutex_
  TaskScope scope_;
};

}  // namespace xec
