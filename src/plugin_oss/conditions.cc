// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/conditions.hh"

#include <fmt/ranges.h>

#include "base/contains.hh"
#include "plugin_oss/file_status.hh"
#include "plugin_oss/opaque.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

constexpr std::string_view kAny = "*";

}  // namespace

void Conditions::Want(std::vector<std::string> tags) {
  for (std::string& tag : tags) {
    present_ = true;
    // A weak tag, W/"...", keeps its quotes: it stands for no version exactly, and is that of none.
    if (tag.size() >= 2 && tag.starts_with('"') && tag.ends_with('"')) tag = tag.substr(1, tag.size() - 2);
    tags_.push_back(std::move(tag));
  }
}

Result<Conditions> Conditions::OfChange(std::string_view opaque) {
  Conditions conditions;
  for (const std::string& tag : OpaqueList(opaque, "xec.if-none-match")) {
    if (tag != kAny)
      return Fail(Code::kUnsupported,
                  "If-None-Match: {}: only * can be asked for, where nothing may be there", tag);
    conditions.absent_ = true;
  }
  conditions.Want(OpaqueList(opaque, "xec.if-match"));
  return conditions;
}

Conditions Conditions::OfReading(std::string_view opaque) {
  Conditions conditions;
  conditions.Want(OpaqueList(opaque, "xec.if-match"));
  std::vector<std::string> of_range = OpaqueValues(opaque, "xec.if-range");
  std::erase_if(of_range, [](const std::string& tag) { return !tag.ends_with('"'); });
  conditions.Want(std::move(of_range));
  return conditions;
}

Status Conditions::Hold(Gateway& gateway, std::string_view path, const Version& version) const {
  if (absent_) return Fail(Code::kAlreadyExists, "{} exists", path);
  if (!present_ || Contains(tags_, kAny)) return OkStatus();
  const std::string current = EntityTag(gateway, path, version);
  if (Contains(tags_, current)) return OkStatus();
  return Fail(Code::kNotCurrent, "{} has the ETag {}, not {}", path, current, fmt::join(tags_, ", "));
}

Result<OnlyIf> Conditions::OfUpload(Gateway& gateway, const std::string& path,
                                    const CallOptions& call) const {
  if (!present_) return OnlyIf{absent_, {}};
  Result<OnlyIf> only_if = OfRemoval(gateway, path, call);
  if (!only_if && only_if.code() == Code::kNotFound)
    return Fail(Code::kNotCurrent, "{} does not exist, so it has not the ETag {}", path,
                fmt::join(tags_, ", "));
  return only_if;
}

Result<OnlyIf> Conditions::OfRemoval(Gateway& gateway, const std::string& path,
                                     const CallOptions& call) const {
  if (!present_ && !absent_) return OnlyIf{};
  XEC_ASSIGN_OR_RETURN(const ObjectInfo info, SyncWait(gateway.store().Stat(path, call)));
  XEC_TRY(Hold(gateway, path, info.version));
  return OnlyIf::Current(info.version);
}

}  // namespace xec
