// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/write/archive_opener.hh"

#include <algorithm>

#include "base/failpoint.hh"
#include "base/log.hh"
#include "commit/engine/access.hh"
#include "object/layout.hh"
#include "placement/homes.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

Task<Result<ArchiveFilePtr>> CreateArchive(Engine& engine, MemberIndex server, ArchivePlace place) {
  const DataServerPtr target = engine.server(server);
  for (const std::string& folder : place.folders) {
    Status made = co_await MakeDirectory(engine.MetadataCall(), target, folder);
    if (!made) co_return made.error();
  }
  Result<ArchiveFilePtr> file =
      co_await xec::Open(engine.MetadataCall(), target, place.path, OpenMode::kCreate);
  XEC_FAILPOINT("put.opened_one");
  co_return std::move(file);
}

}  // namespace

ArchivePlace SealPlace(const Engine& engine, const ObjectPath& path, const State& seal) {
  ArchivePlace place{
      .path = ArchivePath(path, seal), .folders = {}, .homes = engine.Homes(path), .salt = seal.oid};
  // A store that is nearly full grows by it.
  place.into_reserve = path.IsOfList();
  // These entries keep the parts of a shortened name.
  for (const std::string& entry : path.LongNameEntries())
    place.folders.push_back(path.ObjectDirectory() + "/" + entry);
  return place;
}

ArchiveOpener::ArchiveOpener(Engine& engine, ArchivePlace place)
    : engine_(engine),
      place_(std::move(place)),
      tried_(engine.server_count(), false),
      full_(engine.server_count(), false) {}

void ArchiveOpener::SetPlace(ArchivePlace place) {
  XEC_CHECK(Tried().empty(), "archives are open at {} already", place_.path);
  place_ = std::move(place);
}

bool ArchiveOpener::IsBad(MemberIndex server) const {
  return engine_.Rank(server) >= ServerHealth::kRankSuspect;
}

// For messages, once for each server.
void ArchiveOpener::NoteFull(const KnownSpace::Room& room) {
  for (size_t i = 0; i < tried_.size(); ++i) {
    const auto server = static_cast<MemberIndex>(i);
    if (!room.IsFull(server) || tried_[i] || full_[i]) continue;
    full_[i] = true;
    failures_.emplace_back(server,
                           Fail(Code::kNoSpace, "{}", engine_.space().WhyFull(engine_.server_id(server))));
  }
}

std::vector<MemberIndex> ArchiveOpener::NextCandidates(size_t count, size_t per_host_max, bool homes_only) {
  const KnownSpace::Room room = Room();
  std::vector<MemberIndex> candidates =
      homes_only ? place_.homes
                 : PlacementOrder(engine_.descriptor(), place_.homes, place_.salt, room.weights);
  std::erase_if(candidates, [&](MemberIndex server) { return tried_[server]; });
  if (homes_only) {
    std::stable_partition(candidates.begin(), candidates.end(),
                          [&](MemberIndex server) { return !room.IsFull(server); });
  } else if (room.full_count > 0) {
    NoteFull(room);
    std::erase_if(candidates, [&](MemberIndex server) { return room.IsFull(server); });
  }
  std::stable_partition(candidates.begin(), candidates.end(),
                        [&](MemberIndex server) { return !IsBad(server); });
  return PlaceLanes(engine_.descriptor(), candidates, count, per_host_max, held_);
}

// Several archives being created: every server asked is an attempt, in the order of preference.
class ArchiveOpener::Opening {
 public:
  Opening(ArchiveOpener& opener, size_t count)
      : opener_(opener), count_(count), gather_(opener.engine_.scope(), opener.engine_.executor()) {}

  bool Done() const { return opened_ == count_; }
  // How many more servers have to be asked for as many archives as are wanted, if nobody else is late.
  size_t Lacking() const { return count_ - std::min(count_, opened_ + Promising()); }
  bool Waiting(Late late_ones) const {
    return late_ones == Late::kPassedOver ? Promising() > 0 : gather_.pending() > 0;
  }

  void Ask(const std::vector<MemberIndex>& servers) {
    if (servers.empty()) return;
    for (const MemberIndex server : servers) {
      opener_.tried_[server] = true;
      gather_.Start(attempts_.size(), CreateArchive(opener_.engine_, server, opener_.place_));
      attempts_.push_back({server, nullptr, Attempt::kAsked});
    }
    Executor& executor = opener_.engine_.executor();
    gather_.StartTimer(attempts_.size(), executor.Now() + opener_.engine_.options().failover_delay);
  }

  Task<void> Next() {
    Gather<Result<ArchiveFilePtr>>::Event event = co_await gather_.Next();
    if (!event.value) {
      // A server that was asked before the timer was set is late.
      for (size_t i = 0; i < event.tag; ++i) {
        if (attempts_[i].state != Attempt::kAsked) continue;
        attempts_[i].state = Attempt::kLate;
        Log(LogLevel::kWarning, "object", "{} is late to create {}: asking another server",
            opener_.engine_.server_id(attempts_[i].server), opener_.place_.path);
      }
    } else if (event.value->has_value()) {
      attempts_[event.tag].file = std::move(event.value->value());
      attempts_[event.tag].state = Attempt::kOpened;
      ++opened_;
      if (!opener_.opened_at_) opener_.opened_at_ = opener_.engine_.executor().Now();
    } else {
      const bool unclear = OutcomeUnknown(event.value->error());
      attempts_[event.tag].state = unclear ? Attempt::kLate : Attempt::kFailed;
      NoteFailure(attempts_[event.tag].server, event.value->error());
    }
  }

  // Ends the opening. Archives that are still being made elsewhere, or may have been made, are of no use.
  std::vector<OpenedArchive> Take() {
    std::vector<OpenedArchive> opened;
    for (Attempt& attempt : attempts_) {
      if (attempt.state == Attempt::kAsked || attempt.state == Attempt::kLate)
        opener_.engine_.given_up_files().Add(attempt.server, opener_.place_.path);
      if (attempt.state != Attempt::kOpened) continue;
      opener_.held_.push_back(attempt.server);
      opened.push_back(OpenedArchive{attempt.server, std::move(attempt.file)});
    }
    return opened;
  }

 private:
  void NoteFailure(MemberIndex server, const Error& error) {
    Engine& engine = opener_.engine_;
    if (error.code == Code::kNoSpace) engine.space().NoteFull(engine.server_id(server));
    opener_.failures_.emplace_back(server, error);
  }

  struct Attempt {
    MemberIndex server = 0;
    ArchiveFilePtr file;
    enum { kAsked, kLate, kOpened, kFailed } state = kAsked;  // kLate: or nobody knows
  };
  size_t Promising() const {
    return static_cast<size_t>(std::count_if(attempts_.begin(), attempts_.end(), [](const Attempt& attempt) {
      return attempt.state == Attempt::kAsked;
    }));
  }

  ArchiveOpener& opener_;
  const size_t count_;
  Gather<Result<ArchiveFilePtr>> gather_;
  std::vector<Attempt> attempts_;
  size_t opened_ = 0;
};

Task<std::vector<OpenedArchive>> ArchiveOpener::Open(size_t count, size_t per_host_max, bool homes_only,
                                                     Late late_ones) {
  XEC_FAILPOINT("put.open");
  Opening opening(*this, count);
  while (!opening.Done()) {
    const size_t lacking = opening.Lacking();
    if (lacking > 0) opening.Ask(NextCandidates(lacking, per_host_max, homes_only));
    if (!opening.Waiting(late_ones)) break;
    co_await opening.Next();
  }
  XEC_FAILPOINT("put.opened");
  co_return opening.Take();
}

bool ArchiveOpener::HasSpare() const {
  const KnownSpace::Room room = Room();
  for (size_t i = 0; i < tried_.size(); ++i) {
    const auto server = static_cast<MemberIndex>(i);
    if (!tried_[i] && !room.IsFull(server) && !IsBad(server)) return true;
  }
  return false;
}

Task<std::vector<OpenedArchive>> ArchiveOpener::OpenBest(size_t count, size_t per_host_max) {
  return Open(count, per_host_max, false, Late::kWaitedFor);
}

Task<std::vector<OpenedArchive>> ArchiveOpener::OpenOnHomes(size_t count, Late late_homes) {
  return Open(count, place_.homes.size(), true, late_homes);
}

std::vector<MemberIndex> ArchiveOpener::Tried() const {
  std::vector<MemberIndex> servers;
  for (size_t i = 0; i < tried_.size(); ++i) {
    if (tried_[i]) servers.push_back(static_cast<MemberIndex>(i));
  }
  return servers;
}

Error ArchiveOpener::Problems(Code otherwise) const {
  if (failures_.empty()) return Fail(otherwise, "the store has no more servers");
  std::string text;
  for (const auto& [server, error] : failures_) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", engine_.server_id(server), error.message);
  }
  const auto all = [&](Code code) {
    return std::all_of(failures_.begin(), failures_.end(),
                       [&](const auto& f) { return f.second.code == code; });
  };
  const Code code = all(Code::kNoSpace)            ? Code::kNoSpace
                    : all(Code::kPermissionDenied) ? Code::kPermissionDenied
                                                   : otherwise;
  return Error{code, std::move(text)};
}

}  // namespace xec
