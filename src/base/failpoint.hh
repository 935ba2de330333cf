// SPDX-License-Identifier: LGPL-3.0-or-later
// Fail points: named places before and after every step of the protocol where a test build dies or waits on
// request: the programs that link failpoint_armed.cc (target failpoint_programs). In all others a fail point
// is the test of a weak symbol that nobody defines. Only names of the table below compile at all. Tests read
// the table too (tests/component/failpoints.py), so that none is forgotten.
//
//   XEC_FAILPOINT=NAME[:N]             the N-th passage (from 1) kills the process with SIGKILL
//   XEC_FAILPOINT=NAME[:N]=wait:FIFO   the N-th passage opens the FIFO for reading and waits until its other
//                                      side has been opened and closed
//   XEC_FAILPOINT_LOG=FILE             every passage appends its name to the file, a line each
#pragma once

#include <string_view>

namespace xec {

inline constexpr std::string_view kFailPoints[] = {
    // One change of one entry of an object directory on one server: before the request, after the reply.
    "state.rename",
    "state.renamed",
    "state.remove",
    "state.removed",
    "state.mark",
    "state.marked",
    "state.unmark",
    "state.unmarked",
    // An upload: archives made, chunks written, archives sealed, version chosen, seals promoted.
    "put.start",
    "put.exclusive",
    "put.open",
    "put.opened_one",
    "put.opened",
    "put.chunk",
    "put.chunk_written",
    "put.written",
    "put.seal",
    "put.sealed_one",
    "put.sealed",
    "put.look",
    "put.promote",
    "put.committed",
    "put.promoted_other",
    "put.promoted",
    "put.abandon",
    "put.abandoned",
    // A home's answer to the renaming that promotes, and to the making of a mark.
    "promote.home",
    "mark.make",
    "mark.home",
    // Removals and directories.
    "remove.mark",
    "remove.committed",
    "mkdir.seal",
    "mkdir.sealed",
    "mkdir.promote",
    "mkdir.committed",
    "mkdir.withdraw",
    "mkdir.withdrawn",
    "rmdir.mark",
    "rmdir.committed",
    "removal.seal",
    "removal.sealed",
    "removal.withdrawn",
    "parent.look",
    "parent.make_above",
    // Renaming an object: seals at both names, moved tombstone, the new name, the archives.
    "rename.seal",
    "rename.sealed_one",
    "rename.sealed_target",
    "rename.sealed_source",
    "rename.looked",
    "rename.attributes",
    "rename.promote",
    "rename.committed",
    "rename.target_first",
    "rename.target",
    "rename.move_archive",
    "rename.archive",
    "rename.done",
    "rename.withdraw",
    "rename.withdrawn",
    // Renaming a directory.
    "rename_directory.log",
    "rename_directory.logged_one",
    "rename_directory.logged",
    "rename_directory.step",
    "rename_directory.emptied",
    "rename_directory.unlogged_one",
    "rename_directory.done",
    // Rolling a version forward on a home that lacks it.
    "roll.create",
    "roll.unproved",
    "roll.proved",
    "roll.witness",
    "roll.moved_draft",
    "roll.moved",
    // User attributes.
    "attributes.write",
    "attributes.drafted",
    "attributes.written",
    // Layout xrdec: archives staged, the register, archives brought to their name and taken off it.
    "xrdec.seal",
    "xrdec.attributes_set",
    "xrdec.entry",
    "xrdec.entry_sealed",
    "xrdec.entered",
    "xrdec.publish",
    "xrdec.published",
    "xrdec.withdraw",
    "xrdec.withdrawn",
    "xrdec.take_aside",
    "xrdec.aside",
    "xrdec.removed",
    "xrdec.folder_made",
    "xrdec.folder_removed",
    // The cleaner.
    "clean.settled",
    "clean.swept",
    "clean.fenced",
    "clean.all_fenced",
    "clean.retire",
    "clean.retired",
    "clean.rename_fenced",
    "clean.target_fenced",
    "clean.collect",
    "clean.directory",
};

constexpr bool IsFailPoint(std::string_view name) {
  for (const std::string_view known : kFailPoints) {
    if (known == name) return true;
  }
  return false;
}

// Thread-safe. Null unless the program is armed.
[[gnu::weak]] void FailPointPassed(std::string_view name);

#define XEC_FAILPOINT(name)                                                           \
  do {                                                                                \
    static_assert(::xec::IsFailPoint(name), "add it to kFailPoints in failpoint.hh"); \
    if (::xec::FailPointPassed != nullptr) ::xec::FailPointPassed(name);              \
  } while (false)

}  // namespace xec
