// SPDX-License-Identifier: LGPL-3.0-or-later
// UploadLine: uploads that have been opened but have no memory yet. A client whose request is not answered
// for a minute gives its connection up, and nothing can be sent to it from inside a write; an open, though,
// may be answered with "ask again in a second". So uploads stand in line before they start, and a client that
// asks again finds its place. HTTP third-party copy, which opens from inside the daemon, never asks again.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "api/store.hh"
#include "base/mutex.hh"
#include "runtime/task.hh"

namespace xec {

class UploadLine {
 public:
  struct Patience {
    std::chrono::milliseconds alone = std::chrono::seconds(10);
    // All those of a client together: what waits holds up what else its connection carries, such as the bytes
    // of other uploads.
    std::chrono::microseconds beside_others = std::chrono::milliseconds(250);
    // A client that has not asked again for so long has lost its place: as long as a reservation is kept.
    Duration absent = kReservationMax;
  };
  // So long an open waits before its client is told to ask again, without or with other uploads of the same
  // client in the line or under way.
  UploadLine() : UploadLine(Patience()) {}
  explicit UploadLine(Patience patience) : patience_(patience) {}
  UploadLine(const UploadLine&) = delete;
  UploadLine& operator=(const UploadLine&) = delete;
  // Blocks until all in the line have got their memory. Gateways live as long as the daemon.
  ~UploadLine();

  // Of one client: each of its uploads, in the line or under way, owns it.
  using ClientToken = std::shared_ptr<const std::string>;
  struct Admitted {
    std::unique_ptr<WriteHandle> writer;  // null: still in the line, ask again
    ClientToken client;
    CreateOptions options = {};  // those it was created with
  };
  using Admission = Result<Admitted>;

  // Puts a new upload into the line and waits. `client` is one connection; `key` tells uploads of different
  // clients and names apart; `options` come with the writer in the end. Errors: as WriteHandle::Reserve.
  Admission Enter(const std::string& client, const std::string& key, std::unique_ptr<WriteHandle> writer,
                  CreateOptions options = {});

  // For an upload that nobody asks for again: waits as one that is alone, and leaves the line when there was
  // no memory in time (kUnavailable; never a null writer). Else as Enter.
  Admission EnterOnce(std::unique_ptr<WriteHandle> writer, CreateOptions options = {});

  // Drops uploads whose clients have lost their places, with what they hold. Before a new one is created,
  // which may need the room of a quota that they have claimed.
  void DropLost();

  // Is there an upload of this key in the line?
  bool Has(const std::string& key);

  // Goes on waiting with an upload that is in the line; as Enter. A null writer also if it is there no more.
  Admission AskAgain(const std::string& key);

  size_t size() const;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Place {
    std::unique_ptr<WriteHandle> writer;
    ClientToken client;
    CreateOptions options;
    TimePoint asked;  // guarded by mutex_, as the next
    std::optional<Status> reserved;
  };
  using PlacePtr = std::shared_ptr<Place>;
  Task<void> Reserve(PlacePtr place);
  ClientToken TokenOf(const std::string& client) XEC_REQUIRES(mutex_);
  Admission Wait(const std::string& key);

  const Patience patience_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, PlacePtr> places_ XEC_GUARDED_BY(mutex_);
  std::map<std::string, std::weak_ptr<const std::string>> clients_ XEC_GUARDED_BY(mutex_);
  TaskScope scope_;
};

}  // namespace xec
