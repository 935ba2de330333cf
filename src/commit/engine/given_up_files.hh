// SPDX-License-Identifier: LGPL-3.0-or-later
// GivenUpFiles: files that this process made and gave up, and could not remove because their servers did not
// answer: seals of uploads that failed, and those on servers in whose place an upload went on elsewhere; also
// seals of directories that were not made, which are directories themselves. They
// go as soon as their server answers again. And seals of uploads that did commit, on homes that did not
// answer their promotion: it is sent once more. Until then they stand in the way of exclusive creations
// (docs/protocol/put.md, "Tidying").
//
//   Add -> waiting --Take--> taken --done, or not there for kLateCreation--> forgotten
//             ^                |
//             +---any other----+   (its server is left alone for kPause unless the file was only not there)
//
// Pure but for its mutex: it is told times. Thread-safe.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "placement/store_descriptor.hh"
#include "runtime/executor.hh"

namespace xec {

class GivenUpFiles {
 public:
  // The oldest go first when there are more: the cleaner finds them after the upload grace time.
  static constexpr size_t kFilesMax = 4096;
  static constexpr Duration kPause = std::chrono::seconds(5);
  // A file that is not there may still be made by a request that is under way: it is looked for again, first
  // after kMissedPause, then after twice that, and so on, and for the last time after kLateCreation.
  // Exclusive creators wait about as long as that, so what is made late must go sooner.
  static constexpr Duration kMissedPause = std::chrono::seconds(1);
  static constexpr Duration kLateCreation = std::chrono::seconds(10);

  // Nobody makes this file again, but for requests that were sent already. It is removed, or renamed to
  // `promoted` if that is not empty.
  void Add(MemberIndex server, std::string path, std::string promoted = {});

  // Servers on which a file may be removed now.
  std::set<MemberIndex> Servers(TimePoint now) const;
  struct Taken {
    std::string path;
    std::string promoted;
    bool operator==(const Taken&) const = default;
  };
  // The next one on this server; nobody else gets it until Ended. nullopt: none now.
  std::optional<Taken> Take(MemberIndex server, TimePoint now);
  // How its removal or promotion ended. False: the server is to be left alone now.
  bool Ended(MemberIndex server, const std::string& path, const Status& done, TimePoint now);

  // Forgets all that are waiting, and answers them.
  struct Waiting {
    MemberIndex server;
    Taken file;
  };
  std::vector<Waiting> TakeAll();

  size_t size() const;  // waiting or taken

 private:
  struct File {
    uint64_t order = 0;
    std::string promoted;
    TimePoint from = TimePoint::min();  // not before
    std::optional<TimePoint> missed_since = {};  // it was not there then
    bool taken = false;
  };

  mutable Mutex mutex_;
  std::map<std::pair<MemberIndex, std::string>, File> files_ XEC_GUARDED_BY(mutex_);
  std::map<MemberIndex, TimePoint> paused_ XEC_GUARDED_BY(mutex_);  // servers, and until when
  uint64_t next_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec
