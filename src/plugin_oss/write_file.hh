// SPDX-License-Identifier: LGPL-3.0-or-later
// Uploads. XRootD's sequence for a file that persists on successful close (ofs.persist auto hold 0):
//
//   success   Open, Fchmod(mode | 01000), Write..., Fchmod(mode), Close
//   abort     Open, Fchmod(mode | 01000), Write..., Storage::Unlink(path, no env), Close
//
// Unlink tells nothing more, and it does not say whose upload of that name it means: it also comes when
// somebody else wanted to write the name and was refused, while the first upload goes on. Without the last
// Fchmod a Close may come from a client that died, so only a Close after it commits. The number of bytes must
// also be the announced one, where one was announced, and no write may have failed.
#pragma once

#include <optional>

#include "plugin_oss/gateway.hh"
#include "plugin_oss/open_handle.hh"

namespace xec {

struct UploadRequest {
  std::string path;
  std::string client;
  CallOptions call = {};  // for messages
  bool exclusive = false;
  std::optional<uint64_t> announced_size;
  mode_t mode = 0;  // of the open
  std::string opaque = {};  // what else the client says (opaque.hh): checksums, conditions, settings
  bool asks_again = true;  // the client, if told so
  bool copied = false;  // by root://, from a third party: the bytes come by CopyReceiver
};

// Waits for memory; a null handle: there is none yet, the client is to ask again. Errors: as Store::Create;
// kUnavailable if there is no memory for one that does not ask again; as DeclaredChecksums, Conditions and
// SettingsWanted.
Result<std::shared_ptr<OpenHandle>> StartUpload(Gateway& gateway, UploadRequest request);

}  // namespace xec
