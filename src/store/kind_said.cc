// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/kind_said.hh"

namespace xec {

bool SaysDirectory(std::string_view text) { return text.ends_with('/'); }

Status NeedKindSaid(std::string_view text, bool directory) {
  if (directory || !SaysDirectory(text)) return OkStatus();
  return Fail(Code::kNotDirectory,
              "{} is not a directory, as the slash at its end says: leave it off for an object", text);
}

Status NeedKindSaid(std::string_view from, std::string_view to, bool directory) {
  XEC_TRY(NeedKindSaid(from, directory));
  return NeedKindSaid(to, directory);
}

Status NeedObjectSaid(std::string_view text) {
  if (!SaysDirectory(text)) return OkStatus();
  return Fail(
      Code::kIsDirectory,
      "{} is a directory by the slash at its end, and an upload makes an object: say the object's name",
      text);
}

Task<Status> RefuseRemoval(LayoutStore& store, std::string text) {
  const Result<ObjectInfo> info = co_await store.Stat(text);
  if (!info) co_return info.error();
  co_return Fail(Code::kIsDirectory, "{} is a directory", text);
}

}  // namespace xec
