// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/members/member_tools.hh"

#include <filesystem>

#include "assembly/sites/site_server.hh"
#include "assembly/sites/store_sites.hh"
#include "commit/members/descriptor_copies.hh"
#include "server/kinds/local_root.hh"

namespace xec {

CallContext LookCall(const MemberTools& tools) {
  Executor& executor = tools.engine.executor();
  return {&executor, executor.Now() + kInspectTimeout};
}

Result<MemberIndex> FindMember(const MemberTools& tools, const std::string& word) {
  for (size_t i = 0; i < tools.engine.descriptor().members.size(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    const Member& known = tools.engine.descriptor().members[i];
    if (known.id == word || known.address == word || tools.engine.server(member)->name() == word)
      return member;
  }
  return Fail(Code::kInvalidArgument, "{} is no member of the store (see xec server list)", word);
}

bool ShowsMember(const SiteView& view, const StoreDescriptor& store, const Member& member) {
  return view.state == SiteView::kMember && view.identity->store_id == store.store_id &&
         view.identity->member_id == member.id;
}

Result<bool> MustBeGiven(const SiteView& view, const StoreDescriptor& store, const Member& member) {
  const std::string& address = view.site.address;
  if (ShowsMember(view, store, member)) return false;
  switch (view.state) {
    case SiteView::kEmpty: break;
    case SiteView::kMissing:
      if (!view.absent) return *view.problem;
      break;
    case SiteView::kMember:
      return Fail(Code::kConflict, "{} is {} of store {} already", address, view.identity->member_id,
                  view.identity->store_id.substr(0, 8));
    case SiteView::kForeign:
      return Fail(Code::kConflict, "{} is not empty: give an empty directory or data server", address);
    case SiteView::kUnreadable:
    case SiteView::kClosed:
    case SiteView::kRefused: return *view.problem;
  }
  if (view.directory && view.unwritable != 0) {
    return Fail(Code::kPermissionDenied, "the directory {} cannot be written: {}", address,
                ErrnoWords(view.unwritable));
  }
  return true;
}

Task<Result<SiteView>> LookAtPlace(MemberTools tools, std::string address) {
  Result<SiteView> asked = MakeSite(Site{address, ""}, tools.engine.executor(), tools.gate);
  if (!asked) co_return asked.error();
  co_return co_await InspectSite(LookCall(tools), std::move(*asked));
}

Task<Status> GiveIdentity(MemberTools tools, SiteView place, StoreDescriptor stored, std::string member_id) {
  if (place.absent) {
    std::error_code error;
    std::filesystem::create_directories(place.site.address, error);
    if (error)
      co_return Fail(Code::kUnavailable, "the directory {} cannot be made: {}", place.site.address,
                     error.message());
  }
  Status written = co_await WriteDescriptor(LookCall(tools), place.server, stored, tools.engine.NewNonce());
  if (written) {
    written = co_await CreateFile(LookCall(tools), place.server, std::string(kIdentityPath),
                                  FormatIdentity(stored.store_id, member_id), true);
  }
  if (!written)
    co_return Fail(written.code(), "{} cannot become {}: {}", place.site.address, member_id,
                   written.error().message);
  co_return OkStatus();
}

Status NeedEnoughLeft(const Engine& engine, const std::string& id) {
  const TimePoint now = engine.executor().Now();
  std::string others;
  size_t missing = 1;
  for (size_t i = 0; i < engine.server_count(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    const bool up = engine.health().At(i, now).state == ServerState::kUp;
    if (engine.server_id(member) == id || (up && !engine.InMaintenance(member))) continue;
    ++missing;
    others += fmt::format("{}{} {}", others.empty() ? "" : ", ", engine.server_id(member),
                          up ? "is in maintenance" : "does not answer");
  }
  const uint32_t may_be_away = engine.descriptor().tolerance;
  if (missing <= may_be_away) return OkStatus();
  return Fail(Code::kConflict, "any {} data servers may be away, and without {} it would be {}{}{}",
              may_be_away, id, missing, others.empty() ? "" : ": ", others);
}

}  // namespace xec
