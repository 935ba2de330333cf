// SPDX-License-Identifier: LGPL-3.0-or-later
// AwayMembers: which members do not answer, since when, and what a gateway has done about each. Pure: it is
// told times, milliseconds since 1970. Its text is what the job tells of it: the next process goes on from
// there, and other gateways see what need not be done again.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "runtime/executor.hh"

namespace xec {

class AwayMembers {
 public:
  using Ids = std::set<std::string>;

  // All that are away now.
  void Note(const Ids& away, int64_t now_ms);
  // Those that have been for so long.
  Ids For(Duration time, int64_t now_ms) const;
  // What these hold is being written anew on others, or was, all of it; until they are back.
  void NoteBegun(const Ids& ids);
  void NoteReplaced(const Ids& ids);
  bool AreReplaced(const Ids& ids) const;
  // Those that came back after that: what they hold may be elsewhere as well. Or with an empty disk.
  const Ids& returned() const { return returned_; }
  void NoteReturned(const Ids& ids) { returned_.insert(ids.begin(), ids.end()); }
  void Forget(const Ids& returned);

  std::string Text() const;
  // Of any text; what is no such thing is passed over.
  static AwayMembers Parse(std::string_view text);

 private:
  struct Away {
    int64_t since_ms = 0;
    bool begun = false, replaced = false;
  };
  std::map<std::string, Away> away_;  // by id
  Ids returned_;
};

}  // namespace xec
