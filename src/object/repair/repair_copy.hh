// SPDX-License-Identifier: LGPL-3.0-or-later
// One archive that a repair writes anew, under the name of a draft.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "archive/archive_writer.hh"
#include "archive/manifest.hh"
#include "commit/engine/engine.hh"
#include "protocol/state_name.hh"

namespace xec {

struct ArchiveCopy {
  uint32_t lane = 0;
  MemberIndex server = 0;
  State draft;
  std::optional<State> replaces;  // the archive in its place, if there was one
  ArchiveFilePtr file;  // null: closed
  std::shared_ptr<ArchiveWriter> archive = std::make_shared<ArchiveWriter>();
  Status status;
};

// Ends a copy's archive and closes it.
Task<Status> EndArchive(Engine& engine, ArchiveFilePtr file, std::shared_ptr<ArchiveWriter> archive,
                        Manifest manifest);

// Closes and removes a draft that is for nothing, now or when its server answers again. `file`: null if
// somebody else closes it.
Task<void> DropDraft(Engine& engine, MemberIndex server, ArchiveFilePtr file, std::string path);

}  // namespace xec
