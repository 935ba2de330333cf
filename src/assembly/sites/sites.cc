// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/sites/sites.hh"

#include <algorithm>
#include <cerrno>
#include <map>
#include <unistd.h>

#include "assembly/servers/server_kinds.hh"
#include "commit/members/descriptor_copies.hh"
#include "placement/homes.hh"
#include "protocol/member_list.hh"
#include "runtime/gather.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

constexpr size_t kIdentityFileMax = 4096;
// When nobody has answered for so long, those that have not are late.
constexpr Duration kQuiet = std::chrono::milliseconds(200);

// What a directory's look means. False: nothing more is to be asked.
bool TakeLook(SiteView& view, const Result<ShownDirectory>& seen) {
  const std::string& path = view.site.address;
  if (!seen) {
    view.problem = seen.error();
    return false;
  }
  view.place = seen->place;
  if (seen->error != 0) {
    const int error = seen->error;
    view.absent = error == ENOENT;
    view.problem = Fail(view.absent ? Code::kUnavailable : CodeOfErrno(error),
                        "the directory {} cannot be used: {}", path, ErrnoWords(error));
    const bool away = view.absent || error == EIO || error == ENOTCONN || error == ESTALE;
    view.state = away ? SiteView::kMissing : SiteView::kClosed;
    return false;
  }
  if (!seen->directory) {
    view.problem = Fail(Code::kInvalidArgument, "{} is a file, not a directory", path);
    view.state = SiteView::kClosed;
    return false;
  }
  view.inode.emplace(seen->device, seen->inode);
  if (seen->unreadable != 0) {
    view.problem = Fail(Code::kPermissionDenied, "the directory {} cannot be read by user {}: {}", path,
                        geteuid(), ErrnoWords(seen->unreadable));
    view.state = SiteView::kClosed;
    return false;
  }
  view.unwritable = seen->unwritable;
  return true;
}

void Refuse(SiteView& view, SiteView::State state, const Error& error) {
  view.state = state;
  view.problem = Fail(error.code, "{}: {}", view.site.address, error.message);
}

bool SaysNotThere(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kNotDirectory;
}

SiteView::State StateOfFailure(const Error& error) {
  return error.code == Code::kPermissionDenied ? SiteView::kClosed : SiteView::kMissing;
}

// Is there anything besides the reserved area and what file systems put there themselves?
Task<Status> LookForContent(CallContext context, SiteView& view) {
  const Result<std::vector<Entry>> entries = co_await List(context, view.server, "/");
  if (!entries) {
    Refuse(view, StateOfFailure(entries.error()), entries.error());
    co_return entries.error();
  }
  view.content = std::any_of(entries->begin(), entries->end(), [](const Entry& entry) {
    return "/" + entry.name != kReservedDirectory && !(entry.name == "lost+found" && entry.directory);
  });
  co_return OkStatus();
}

}  // namespace

Task<SiteView> InspectSite(CallContext context, SiteView asked) {
  SiteView view;
  view.site = std::move(asked.site);
  view.server = std::move(asked.server);
  view.look = std::move(asked.look);
  view.directory = asked.directory;
  if (view.look) {
    const Result<ShownDirectory> seen = co_await view.look->Ask(context);
    if (!TakeLook(view, seen)) co_return std::move(view);
  }

  const Result<std::string> identity =
      co_await ReadFile(context, view.server, std::string(kIdentityPath), kIdentityFileMax);
  if (!identity && !SaysNotThere(identity.error()) && identity.code() != Code::kCorruption) {
    Refuse(view, StateOfFailure(identity.error()), identity.error());
    co_return std::move(view);
  }
  const Result<std::string> text = co_await ReadNewestDescriptor(context, view.server);
  if (!text && !SaysNotThere(text.error()) && text.code() != Code::kCorruption) {
    Refuse(view, StateOfFailure(text.error()), text.error());
    co_return std::move(view);
  }
  if (text) {
    Result<StoreDescriptor> descriptor = ParseDescriptor(*text);
    if (descriptor) {
      view.descriptor = std::move(*descriptor);
    } else if (descriptor.code() == Code::kUnsupported) {
      Refuse(view, SiteView::kRefused, descriptor.error());
      co_return std::move(view);
    }
  }
  view.damaged_descriptor = !view.descriptor && (text || text.code() == Code::kCorruption);
  if (!view.descriptor) {
    const Status looked = co_await LookForContent(context, view);
    if (!looked) co_return std::move(view);
  }
  const bool anything =
      identity || text || identity.code() == Code::kCorruption || text.code() == Code::kCorruption;
  const Result<Identity> parsed = identity ? ParseIdentity(*identity) : Result<Identity>(identity.error());
  if (parsed) {
    view.identity = *parsed;
    view.state = SiteView::kMember;
  } else if (parsed.code() == Code::kUnsupported) {
    Refuse(view, SiteView::kUnreadable, parsed.error());
  } else if (anything) {
    Refuse(view, SiteView::kUnreadable,
           Fail(Code::kCorruption, "the file {}, which says whose archives these are, is missing or damaged",
                kIdentityPath));
  } else {
    view.state = view.content ? SiteView::kForeign : SiteView::kEmpty;
  }
  co_return std::move(view);
}

Task<std::vector<SiteView>> InspectSites(CallContext context, TaskScope& scope, std::vector<SiteView> asked,
                                         std::function<bool(std::span<const SiteView>)> enough) {
  Gather<SiteView> gather(scope, *context.executor);
  std::vector<SiteView> views = std::move(asked);
  for (size_t i = 0; i < views.size(); ++i) {
    views[i].problem = Fail(Code::kUnavailable, "{} has not answered in time", views[i].site.address);
    gather.Start(i, InspectSite(context, views[i]));
  }
  TimePoint quiet_since = context.executor->Now();
  gather.StartTimer(SIZE_MAX, quiet_since + kQuiet);
  while (gather.pending() > 0) {
    auto event = co_await gather.Next();
    const TimePoint now = context.executor->Now();
    if (event.value) {
      views[event.tag] = std::move(*event.value);
      quiet_since = now;
      continue;
    }
    const bool quiet = now - quiet_since >= kQuiet;
    if (quiet && enough(views)) break;
    gather.StartTimer(SIZE_MAX, quiet ? now + kQuiet : quiet_since + kQuiet);
  }
  co_return std::move(views);
}

namespace {

std::string Short(std::string_view store_id) { return std::string(store_id.substr(0, 8)); }

// All that say anything must name one store; which of its descriptors counts is decided by ChooseList.
// nullopt: nobody shows one.
Result<std::optional<StoreDescriptor>> AgreedDescriptor(std::span<const SiteView> views) {
  const SiteView* first = nullptr;
  std::string_view store_id;
  const StoreDescriptor* best = nullptr;
  std::vector<StoreDescriptor> shown;
  for (const SiteView& view : views) {
    if (view.state != SiteView::kMember) continue;
    if (view.descriptor) shown.push_back(*view.descriptor);
    for (const std::string_view id :
         {std::string_view(view.identity->store_id),
          view.descriptor ? std::string_view(view.descriptor->store_id) : std::string_view()}) {
      if (id.empty()) continue;
      if (!first) {
        first = &view;
        store_id = id;
      }
      if (id != store_id) {
        return Fail(Code::kConflict, "{} belongs to store {}, not to store {} as {} does", view.site.address,
                    Short(id), Short(store_id), first->site.address);
      }
    }
    if (view.descriptor && best && view.descriptor->epoch == best->epoch && !(*view.descriptor == *best)) {
      return Fail(
          Code::kConflict,
          "{} shows another descriptor of store {}, epoch {}, than others do: the wrong one has to be "
          "replaced",
          view.site.address, Short(store_id), best->epoch);
    }
    if (view.descriptor && (!best || view.descriptor->epoch > best->epoch)) best = &*view.descriptor;
  }
  if (best == nullptr) return std::optional<StoreDescriptor>();
  // While a store is made not all have it yet.
  if (best->epoch == 1) return std::optional(*best);
  // Directories are seen by one process only, and it asks all that are there.
  const bool directories = views.front().directory;
  XEC_ASSIGN_OR_RETURN(StoreDescriptor chosen,
                       ChooseList(shown, directories ? std::optional(shown.size() / 2 + 1) : std::nullopt));
  return std::optional(std::move(chosen));
}

size_t CountIn(std::span<const SiteView> views, SiteView::State state) {
  return static_cast<size_t>(
      std::count_if(views.begin(), views.end(), [&](const auto& v) { return v.state == state; }));
}

const SiteView& FirstIn(std::span<const SiteView> views, SiteView::State state) {
  return *std::find_if(views.begin(), views.end(), [&](const auto& v) { return v.state == state; });
}

Error ForeignError(const SiteView& view) {
  return Fail(Code::kConflict, "{} is not empty and belongs to no store: give an empty directory or server",
              view.site.address);
}

// A directory under two names. Two that say that they are two are that, whatever their file system counts.
Status CheckDifferent(std::span<const SiteView> views) {
  std::map<std::pair<uint64_t, uint64_t>, const SiteView*> known;
  for (const SiteView& view : views) {
    if (!view.inode) continue;
    const auto [place, is_new] = known.emplace(*view.inode, &view);
    if (is_new) continue;
    const SiteView& first = *place->second;
    const bool two = first.identity && view.identity && !SameIdentity(first.identity, view.identity);
    if (!two) return SameSite(first, view);
  }
  return OkStatus();
}

// What lies in another one is taken for objects of that one, and removed with them.
Status CheckApart(std::span<const SiteView> views) {
  for (const SiteView& inner : views) {
    for (const SiteView& outer : views) {
      const bool inside = !outer.place.empty() && inner.place.starts_with(outer.place + "/");
      if (inside) {
        return Fail(Code::kInvalidArgument, "{} lies inside {}: give directories that are apart",
                    inner.site.address, outer.site.address);
      }
    }
  }
  return OkStatus();
}

// What they say of themselves, of at most so many.
std::string Problems(std::span<const SiteView> views, SiteView::State state) {
  constexpr size_t kNamedMax = 20;
  std::string all;
  size_t named = 0;
  for (const SiteView& view : views) {
    if (view.state != state) continue;
    if (++named > kNamedMax) return all + "; ...";
    all += fmt::format("{}{}", all.empty() ? "" : "; ", view.problem->message);
  }
  return all;
}

Result<Judgement> JudgeNew(std::span<const SiteView> views, const Configuration& configuration) {
  Judgement judgement;
  const bool adopts = configuration.layout == Layout::kXrdec;
  if (CountIn(views, SiteView::kClosed) > 0) return *FirstIn(views, SiteView::kClosed).problem;
  if (CountIn(views, SiteView::kForeign) > 0 && !adopts)
    return ForeignError(FirstIn(views, SiteView::kForeign));
  for (const SiteView& view : views) {
    if (view.descriptor) return *view.problem;
    const bool marked = view.state == SiteView::kMember || view.state == SiteView::kUnreadable;
    if (marked && view.content && !adopts) {
      return Fail(Code::kCorruption, "{} has archives, but no readable store descriptor ({})",
                  view.site.address, kDescriptorPath);
    }
    // A directory that does not exist yet can be made; one that does not answer may be anything.
    if (view.state == SiteView::kMissing && !view.absent) {
      return Fail(Code::kNoQuorum, "{}", view.problem->message);
    }
    if (view.directory && view.unwritable != 0) {
      return Fail(Code::kPermissionDenied, "the directory {} cannot be written: {}", view.site.address,
                  ErrnoWords(view.unwritable));
    }
  }
  const bool begun = CountIn(views, SiteView::kMember) + CountIn(views, SiteView::kUnreadable) > 0;
  judgement.kind = begun ? Judgement::kUnfinished : Judgement::kCreate;
  return judgement;
}

// Which site is which member of the store.
Status BindMembers(std::span<const SiteView> views, Judgement& judgement) {
  const StoreDescriptor& descriptor = judgement.descriptor;
  judgement.site_of_member.resize(descriptor.members.size());
  for (size_t i = 0; i < views.size(); ++i) {
    const SiteView& view = views[i];
    const auto leave_out = [&](std::string why) {
      judgement.unbound.push_back(i);
      judgement.notes.push_back(fmt::format("{} is left out: {}", view.site.address, why));
    };
    switch (view.state) {
      case SiteView::kRefused: return *view.problem;
      case SiteView::kForeign: return ForeignError(view);
      case SiteView::kMissing:
        judgement.unbound.push_back(i);
        judgement.notes.push_back(view.problem->message);
        continue;
      case SiteView::kClosed:
        judgement.unbound.push_back(i);
        judgement.notes.push_back(
            fmt::format("{}. It is left out, and used again once it is a directory that may be read and "
                        "written: see what "
                        "it is, its owner and its mode",
                        view.problem->message));
        continue;
      case SiteView::kUnreadable: leave_out(view.problem->message); continue;
      case SiteView::kEmpty: leave_out("it is empty"); continue;
      case SiteView::kMember: break;
    }
    const auto member = std::find_if(descriptor.members.begin(), descriptor.members.end(),
                                     [&](const Member& m) { return m.id == view.identity->member_id; });
    if (member == descriptor.members.end()) {
      // It left the store, or is not in it yet.
      if (view.listed) {
        judgement.notes.push_back(
            fmt::format("{} is left out: it was made for {}, and the store has no such member (epoch {})",
                        view.site.address, view.identity->member_id, descriptor.epoch));
      }
      continue;
    }
    auto& site = judgement.site_of_member[static_cast<size_t>(member - descriptor.members.begin())];
    if (site) {
      return Fail(Code::kConflict,
                  "{} and {} both say they are {}: one is a copy of the other, or they are the same",
                  views[*site].site.address, view.site.address, member->id);
    }
    site = i;
    if (!view.descriptor) judgement.lack_descriptor.push_back(i);
    if (view.unwritable != 0) {
      judgement.notes.push_back(fmt::format("{} cannot be written ({}): it is only read", view.site.address,
                                            ErrnoWords(view.unwritable)));
    }
  }
  return OkStatus();
}

}  // namespace

bool SameIdentity(const std::optional<Identity>& a, const std::optional<Identity>& b) {
  if (!a || !b) return !a && !b;
  return a->store_id == b->store_id && a->member_id == b->member_id;
}

Error SameSite(const SiteView& one, const SiteView& other) {
  return Fail(Code::kInvalidArgument, "{} and {} are the same {}: list it once", one.site.address,
              other.site.address, KindOf(one.site.address).noun);
}

Result<Judgement> JudgeSites(std::span<const SiteView> views, const Configuration& configuration) {
  if (views.empty()) {
    return Fail(Code::kInvalidArgument,
                "no data servers are given: say --data DIR (once for each directory), "
                "--server or --origin root://HOST:PORT, or -c FILE");
  }
  if (CountIn(views, SiteView::kRefused) > 0) return *FirstIn(views, SiteView::kRefused).problem;
  XEC_TRY(CheckDifferent(views));
  XEC_TRY(CheckApart(views));
  XEC_ASSIGN_OR_RETURN(const std::optional<StoreDescriptor> found, AgreedDescriptor(views));
  if (!found) return JudgeNew(views, configuration);

  if (const size_t closed = CountIn(views, SiteView::kClosed); closed > found->tolerance) {
    return Fail(Code::kPermissionDenied,
                "{}: the store can do without {} of its data servers at most, not {}",
                Problems(views, SiteView::kClosed), found->tolerance, closed);
  }
  Judgement judgement;
  judgement.descriptor = *found;
  XEC_TRY(BindMembers(views, judgement));
  const size_t members = judgement.descriptor.members.size();
  size_t bound = 0;
  for (size_t i = 0; i < members; ++i) {
    const auto& site = judgement.site_of_member[i];
    // A site that lost its copy may have lost a later one. While a store is made, none has ever been there.
    if (site && (views[*site].descriptor || found->epoch == 1)) ++bound;
  }
  // Servers may have learnt of a newer epoch while others were away; directories are seen by one process
  // only.
  const bool remote = !views[0].directory;
  if (remote && bound < Quorum(members)) {
    const std::string closed = Problems(views, SiteView::kClosed);
    return Fail(Code::kNoQuorum, "only {} of the {} data servers of the store answer{}{}", bound, members,
                closed.empty() ? "" : "; ", closed);
  }
  return judgement;
}

bool EnoughAnswered(std::span<const SiteView> views, const Configuration& configuration) {
  const Result<Judgement> judgement = JudgeSites(views, configuration);
  if (!judgement || judgement->kind != Judgement::kOpen) return false;
  const auto& bound = judgement->site_of_member;
  const auto absent = std::count(bound.begin(), bound.end(), std::nullopt);
  return static_cast<size_t>(absent) <= judgement->descriptor.tolerance;
}

Result<StoreDescriptor> NewDescriptor(std::span<const SiteView> views, const Configuration& configuration,
                                      std::string store_id) {
  StoreDescriptor descriptor;
  descriptor.store_id = std::move(store_id);
  descriptor.layout = configuration.layout.value_or(Layout::kNative);
  descriptor.sync = configuration.sync.value_or(SyncPolicy::kCommit);
  const auto interval_s =
      std::chrono::duration_cast<std::chrono::seconds>(configuration.engine.descriptor_interval).count();
  descriptor.lease_s =
      static_cast<uint32_t>(std::clamp<int64_t>(kDescriptorIntervalsMax * interval_s, 1, kLeaseSecondsMax));
  descriptor.geometry = configuration.GeometryOver(Geometry{});
  descriptor.rules = configuration.RulesOver(Geometry{});
  descriptor.adopts_xrdec = descriptor.layout == Layout::kXrdec;
  descriptor.tolerance = descriptor.geometry.parity_chunks;
  for (const PathRule& rule : descriptor.rules) {
    descriptor.tolerance = std::max(descriptor.tolerance, rule.geometry.parity_chunks);
  }
  for (size_t i = 0; i < views.size(); ++i) {
    const SiteView& view = views[i];
    const std::string name(WithoutScheme(view.site.address));
    descriptor.members.push_back(Member{fmt::format("s{:02}", i + 1),
                                        view.directory ? std::string(kLocalAddress) : view.site.address,
                                        view.site.host.empty() ? name : view.site.host});
  }
  XEC_TRY(ValidateDescriptor(descriptor));
  return descriptor;
}

Result<StoreDescriptor> EffectiveDescriptor(const Judgement& judgement, std::span<const SiteView> views,
                                            const Configuration& configuration,
                                            std::vector<std::string>& notes) {
  StoreDescriptor descriptor = judgement.descriptor;
  if (configuration.layout && *configuration.layout != descriptor.layout) {
    return Fail(Code::kInvalidArgument, "the store has layout {}, which cannot be changed to {}",
                LayoutName(descriptor.layout), LayoutName(*configuration.layout));
  }
  const Geometry made_with = descriptor.geometry;
  descriptor.geometry = configuration.GeometryOver(made_with);
  if (!configuration.rules.empty()) descriptor.rules = configuration.RulesOver(made_with);
  descriptor.sync = configuration.sync.value_or(descriptor.sync);
  if (descriptor.geometry != made_with) {
    notes.push_back(
        fmt::format("new objects get geometry {} with chunks of {}; the store was made with {} and {}",
                    descriptor.geometry.ToString(), FormatSize(descriptor.geometry.chunk_size_bytes),
                    made_with.ToString(), FormatSize(made_with.chunk_size_bytes)));
  }
  for (size_t i = 0; i < descriptor.members.size(); ++i) {
    const auto& site = judgement.site_of_member[i];
    if (site && !views[*site].site.host.empty()) descriptor.members[i].host = views[*site].site.host;
  }
  XEC_TRY(ValidateDescriptor(descriptor));
  std::vector<PathRule> rules = descriptor.rules;
  rules.push_back({"/", descriptor.geometry});
  for (const PathRule& rule : rules) {
    XEC_TRY(CheckBudget(rule.geometry, configuration.engine.memory_bytes));
    if (rule.geometry.parity_chunks > descriptor.tolerance) {
      return Fail(
          Code::kInvalidArgument,
          "geometry {} has {} parity chunks, but the store was made to survive the loss of {} servers only",
          rule.geometry.ToString(), rule.geometry.parity_chunks, descriptor.tolerance);
    }
  }
  return descriptor;
}

}  // namespace xec
