// SPDX-License-Identifier: LGPL-3.0-or-later
// What the clients of a simulated store asked and were told, and the judge of it: is there, for every name,
// an order of the operations that explains all answers and respects which ended before which began? Pure.
//
// Linearizability is local, so each name is judged alone; a rename is a removal at one name and a write at
// the other. That both happen at one moment, or neither, is judged after that, for each rename by itself.
//
// A directory is a name that is there or not. Its rename is no single step: it is one rename for each name
// that may be below it, its parts, each of which may also not happen. A name that is given both as one of an
// object and as one of a directory is a register with both: nothing is written, moved or made over the other
// kind, nor removed as if it were the other.
//
// User attributes belong to what is at a name: who writes gives some, who renames takes all along.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hh"

namespace xec::sim {

// One more for every event of a seed, so that events are totally ordered.
using Moment = uint64_t;
inline constexpr Moment kNever = UINT64_MAX;

// A content is a number; 0 is "nothing there".
using Content = uint64_t;
inline constexpr Content kNothing = 0;

// User attributes have few names, known by their number here; each value is set once, 0 is "not set".
inline constexpr size_t kAttributeNames = 2;
using AttributeValues = std::array<uint64_t, kAttributeNames>;
inline constexpr uint64_t kNotSet = 0;

// How often a rename of a directory is gone through for one name at most, as far as the judge follows: by who
// was asked, and by cleaners that go on with it and move what came under the old name meanwhile.
inline constexpr int kPassesMax = 8;

enum class OpKind {
  kPut,
  kExclusivePut,
  kRemove,
  kRename,
  kMakeDirectory,
  kRemoveDirectory,
  kRenameDirectory,
  kSetAttribute,
  kRemoveAttribute,
  kStat,
  kRead,
  kGetAttributes,
  kList
};
const char* OpKindName(OpKind kind);

struct Op {
  size_t id = 0;
  OpKind kind = OpKind::kRead;
  std::string name;  // of kList: the directory
  std::string to;  // of kRename and kRenameDirectory
  Moment invoked = 0;
  Moment ended = kNever;  // kNever: the gateway died
  std::optional<Code> error;
  Content content = kNothing;  // written, or read
  AttributeValues attributes = {};  // of puts: written; of kSetAttribute: set (one); of kGetAttributes: seen
  size_t attribute = 0;  // of kSetAttribute and kRemoveAttribute: which
  uint64_t size = 0;  // of kStat
  bool directory = false;  // of kStat: is it one?
  std::set<std::string> listed;  // of kList: full names
  std::set<std::string> listed_directories;  // those of them that are said to be one
  bool parents = true;  // of puts and kMakeDirectory: makes what is missing above the name
  // Of kRename: one of the names below a directory that is renamed, in the first pass, which is put down when
  // the rename begins, or in a later one, which Judge adds. 0: no part.
  int part = 0;
  size_t first_pass = 0;  // of parts: the id of the same part in the first pass
  // Of kRenameDirectory that was told to be in the way: a cleaner may have taken it up before the answer,
  // since its clock was ahead, and goes on with it.
  bool taken_up = false;
  // Told only by who cannot know whether the change will take effect, or not told at all.
  bool Open() const;
  std::string ToString() const;
};

class History {
 public:
  // `size_of` gives the bytes of a content.
  explicit History(uint64_t (*size_of)(Content)) : size_of_(size_of) {}

  // The reference lasts until the next Begin.
  size_t Begin(Op op, Moment now);
  Op& at(size_t id) { return ops_[id]; }
  const std::vector<Op>& ops() const { return ops_; }

  struct Verdict {
    std::optional<std::string> broken;  // the first broken rule as a sentence
    size_t unjudged = 0;  // names on which the search gave up
  };
  // `names` of objects and of directories that the operations may touch; some may be among both.
  Verdict Judge(const std::vector<std::string>& names,
                const std::vector<std::string>& directories = {}) const;

 private:
  struct Object;
  struct Known;
  // What is assumed about one rename.
  struct Assumption {
    enum How {
      kNever,
      kHappens,  // within these moments
      kHidden,  // as kHappens, but at its source something else came before anybody could see it gone
    };
    size_t rename;
    How how;
    Moment from, to;
    const Object* carries = nullptr;  // at its source: takes this along
  };
  struct Event;
  class Search;
  Verdict JudgeAllPasses(const std::vector<std::string>& names,
                         const std::vector<std::string>& directories) const;
  std::string Culprit(const std::vector<std::string>& unexplained, const Known& known) const;
  void AddPasses();
  std::vector<Event> EventsOf(const std::string& name) const;
  std::vector<Event> ObjectEventsOf(const std::string& name) const;
  std::vector<Event> DirectoryEventsOf(const std::string& directory) const;
  Known Learn(const std::vector<std::string>& names) const;
  bool CanCarry(const Op& rename, const Object& object, const Known& known) const;
  bool ExplainsIf(const std::string& name, const Known& known, const Assumption& assumption) const;
  std::optional<Moment> Earliest(const std::string& name, const Known& known, const Op& rename,
                                 Assumption::How how) const;
  std::optional<Moment> Latest(const std::string& name, const Known& known, const Op& rename) const;
  Moment LastMoment(const Op& rename) const;
  bool IsOneStep(const Op& rename, const Known& known) const;
  bool IsContested(const Op& removal) const;
  bool MayMakeAbove(const Op& op, const std::string& directory) const;
  bool IsRemovedBeside(const Op& maker, const std::string& directory) const;
  bool IsOverruled(const Op& rename) const;

  uint64_t (*const size_of_)(Content);
  std::vector<Op> ops_;
  std::set<std::string> both_;  // names that may be an object or a directory, while it is judged
};

}  // namespace xec::sim
