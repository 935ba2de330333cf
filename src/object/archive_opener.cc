// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/archive_opener.hh"

#include <algorithm>

#include "base/failpoint.hh"
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
  ArchivePlace place{ArchivePath(path, seal), {}, engine.Homes(path), seal.oid};
  // What keeps the parts of a shortened name.
  for (const std::string& entry : path.LongNameEntries())
    place.folders.push_back(path.ObjectDirectory() + "/" + entry);
  return place;
}

ArchiveOpener::ArchiveOpener(Engine& engine, ArchivePlace place)
    : engine_(engine), place_(std::move(place)), tried_(engine.server_count(), false) {}

std::vector<MemberIndex> ArchiveOpener::NextCandidates(size_t count, size_t per_host_max,
                                                       bool homes_only) const {
  // std::span<const bool> cannot view a std::vector<bool>.
  const auto usable = std::make_unique<bool[]>(tried_.size());
  for (size_t i = 0; i < tried_.size(); ++i) {
    const bool home = std::find(place_.homes.begin(), place_.homes.end(), i) != place_.homes.end();
    usable[i] = !tried_[i] && (home || !homes_only);
  }
  return PlaceLanes(engine_.descriptor(), place_.homes, place_.salt, count, per_host_max,
                    std::span<const bool>(usable.get(), tried_.size()));
}

Task<std::vector<OpenedArchive>> ArchiveOpener::Open(size_t count, size_t per_host_max, bool homes_only) {
  XEC_FAILPOINT("put.open");
  std::vector<OpenedArchive> opened;
  while (opened.size() < count) {
    const std::vector<MemberIndex> candidates =
        NextCandidates(count - opened.size(), per_host_max, homes_only);
    if (candidates.empty()) break;
    Gather<Result<ArchiveFilePtr>> gather(engine_.scope(), engine_.executor());
    for (size_t i = 0; i < candidates.size(); ++i) {
      tried_[candidates[i]] = true;
      gather.Start(i, CreateArchive(engine_, candidates[i], place_));
    }
    std::vector<ArchiveFilePtr> files(candidates.size());
    while (gather.pending() > 0) {
      Gather<Result<ArchiveFilePtr>>::Event event = co_await gather.Next();
      if (event.value->has_value()) {
        files[event.tag] = event.value->value();
      } else {
        failures_.emplace_back(candidates[event.tag], event.value->error());
      }
    }
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (files[i]) opened.push_back(OpenedArchive{candidates[i], std::move(files[i])});
    }
  }
  XEC_FAILPOINT("put.opened");
  co_return std::move(opened);
}

Task<std::vector<OpenedArchive>> ArchiveOpener::OpenBest(size_t count, size_t per_host_max) {
  return Open(count, per_host_max, false);
}

Task<std::vector<OpenedArchive>> ArchiveOpener::OpenOnHomes(size_t count) {
  return Open(count, place_.homes.size(), true);
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
