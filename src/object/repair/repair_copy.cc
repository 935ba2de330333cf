// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/repair/repair_copy.hh"

#include "base/log.hh"
#include "object/write/archive_sealer.hh"
#include "server/calls.hh"

namespace xec {

Task<Status> EndArchive(Engine& engine, ArchiveFilePtr file, std::shared_ptr<ArchiveWriter> archive,
                        Manifest manifest) {
  Status sealed = co_await SealArchive(engine, file, std::move(archive), LastPiece(), std::move(manifest),
                                       RunEnd::kAligned);
  Status closed = co_await Close(engine.WriteCall(), std::move(file));
  if (sealed && !closed) sealed = AsSilence(closed.error());
  co_return std::move(sealed);
}

Task<void> DropDraft(Engine& engine, MemberIndex server, ArchiveFilePtr file, std::string path) {
  if (file) {
    const Status closed = co_await Close(engine.MetadataCall(), std::move(file));
    (void)closed;
  }
  const Status removed = co_await Remove(engine.MetadataCall(), engine.server(server), path);
  if (removed || removed.code() == Code::kNotFound) co_return;
  Log(LogLevel::kInfo, "repair", "left on {} until it answers: a copy that was given up ({})",
      engine.server_id(server), path);
  engine.given_up_files().Add(server, std::move(path));
}

}  // namespace xec
