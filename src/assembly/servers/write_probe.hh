// SPDX-License-Identifier: LGPL-3.0-or-later
// Does a data server take writes? A disk that was remounted read-only, given to another user, or that is
// full, answers everything else, so nobody would notice before uploads run out of other servers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/calls.hh"

namespace xec {

// In the reserved area, only while somebody tries. The next process that tries removes what a killed one has
// left.
inline constexpr std::string_view kProbeFolder = "/.xec/probe";
inline constexpr std::string_view kProbePath = "/.xec/probe/file";
// Removes both. Error: that of removing the file, unless it is not there.
Task<Status> ClearProbe(Executor& executor, DataServerPtr server, Duration each);

enum class WriteRefusal { kReadOnly, kDenied, kFull };

// What this error of a write says about the server; nullopt: nothing of that kind.
std::optional<WriteRefusal> RefusalOf(const Error& error);

// What a server that was tried has shown.
struct TriedWrites {
  std::optional<WriteRefusal> refusal;  // nullopt: it takes writes
  std::string why;  // of a refusal: a sentence with what to do, and the server's own words
};

// Makes a folder with a small file in the reserved area and removes them; with `root` it asks first whether
// names may be made in the server's root. Each request may take `each`. Leaves nothing behind, unless the
// server stops answering; but where the reserved area is empty (no member's is, its identity lies there) that
// may go. Error: the server has not shown it: it is silent, or not what it should be.
Task<Result<TriedWrites>> TryWrites(Executor& executor, DataServerPtr server, bool root, Duration each);

// What is to be told of servers that are tried in rounds: once that one takes no writes, or for another
// reason than before, and once that it does again, when that was so for some rounds: a full disk has room for
// a small file now and then. Pure.
class WriteWatch {
 public:
  explicit WriteWatch(size_t servers) : told_(servers) {}

  static constexpr int kWellRounds = 3;
  static constexpr uint64_t kRootRounds = 60;
  // Is the server asked in that round whether names may be made in its root? A directory always; others,
  // which write into their own logs what they refuse, once in kRootRounds, and as long as they may refuse
  // just that.
  bool AsksRoot(size_t server, bool directory, uint64_t round) const {
    return directory || round % kRootRounds == 0 || told_[server].refusal;
  }
  enum class News { kNone, kRefuses, kTakes };
  // A round has shown that the server refuses, or that it does not. Silence is not noted.
  News Note(size_t server, std::optional<WriteRefusal> refusal, TimePoint now);
  // Since when it refuses, or did until the last kTakes.
  TimePoint RefusedSince(size_t server) const { return told_[server].since; }

 private:
  struct Told {
    std::optional<WriteRefusal> refusal;
    TimePoint since{};
    int well = 0;  // rounds since it refused
  };
  std::vector<Told> told_;
};

}  // namespace xec
