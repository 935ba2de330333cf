// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/opaque.hh"

#include <XrdOuc/XrdOucEnv.hh>

#include "base/text.hh"

namespace xec {

std::string OpaqueOf(XrdOucEnv* env) {
  int size = 0;
  const char* text = env == nullptr ? nullptr : env->Env(size);
  if (text == nullptr) return "";
  std::string ours;
  for (const std::string_view piece : Split(std::string_view(text, static_cast<size_t>(size)), '&')) {
    if (piece.starts_with("cks.") || piece.starts_with("xec.")) ours.append("&").append(piece);
  }
  return ours;
}

std::vector<std::string> OpaqueValues(std::string_view opaque, std::string_view key) {
  std::vector<std::string> values;
  for (const std::string_view piece : Split(opaque, '&')) {
    const size_t equals = piece.find('=');
    if (equals == std::string_view::npos || piece.substr(0, equals) != key) continue;
    const std::string_view value = piece.substr(equals + 1);
    values.push_back(PercentDecode(value).value_or(std::string(value)));
  }
  return values;
}

std::vector<std::string> OpaqueList(std::string_view opaque, std::string_view key) {
  std::vector<std::string> pieces;
  for (const std::string& value : OpaqueValues(opaque, key)) {
    for (const std::string_view piece : Split(value, ',')) {
      if (!Trim(piece).empty()) pieces.emplace_back(Trim(piece));
    }
  }
  return pieces;
}

}  // namespace xec
