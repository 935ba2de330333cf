// SPDX-License-Identifier: LGPL-3.0-or-later
#include "xrdec/look.hh"

#include <algorithm>

#include "base/contains.hh"
#include "commit/engine/server_gather.hh"

namespace xec {

Task<Found> FindOn(Engine& engine, MemberIndex member, std::string path) {
  Result<Attributes> got =
      co_await GetAttributes(engine.MetadataCall(), engine.server(member), std::move(path), "xrdec.");
  Found found;
  if (!got) {
    // "Not a directory": a part of the path is a file there, so this name is not.
    const bool absent = got.code() == Code::kNotFound || got.code() == Code::kNotDirectory;
    found.kind = absent ? Found::kAbsent : got.code() == Code::kIsDirectory ? Found::kOther : Found::kSilent;
    co_return found;
  }
  const std::map<std::string, std::string> attributes(got->begin(), got->end());
  Result<XrdecAttributes> parsed = XrdecAttributes::Parse(attributes);
  found.kind = parsed ? Found::kArchive : Found::kOther;
  if (parsed) found.attributes = *parsed;
  co_return found;
}

namespace {

bool Suffices(const Verdict& verdict, const Geometry& geometry) {
  if (verdict.kind == Verdict::kObject) return verdict.holders.size() >= geometry.data_chunks;
  return verdict.kind != Verdict::kCannotTell;
}

Task<std::vector<Found>> FindEverywhere(Engine& engine, ObjectPath path, Accepted registered) {
  const Geometry& geometry = GeometryFor(engine.descriptor(), path.text());
  std::vector<Found> found(engine.server_count());
  ServerGather<Found> gather(engine);
  for (const MemberIndex member : engine.AllByHealth())
    gather.Start(member, FindOn(engine, member, path.PlainPath()));
  while (gather.timely() > 0 ||
         (gather.pending() > 0 && !Suffices(Judge(found, registered, geometry), geometry))) {
    auto event = co_await gather.Next();
    if (event.value) found[event.member] = std::move(*event.value);
  }
  co_return std::move(found);
}

// Is what the servers have there, without being archives, a directory? kNoQuorum when none of them says.
Task<Result<bool>> IsDirectory(Engine& engine, ObjectPath path, std::vector<Found> found) {
  ServerGather<Result<std::vector<Entry>>> gather(engine);
  for (const MemberIndex member : engine.AllByHealth()) {
    if (found[member].kind == Found::kOther)
      gather.Start(member, List(engine.MetadataCall(), engine.server(member), path.PlainPath()));
  }
  bool file = false;
  while (gather.pending() > 0 && (!file || gather.timely() > 0)) {
    const auto event = co_await gather.Next();
    if (!event.value) continue;
    const Result<std::vector<Entry>>& listed = *event.value;
    if (listed) co_return true;
    if (listed.code() == Code::kNotDirectory || listed.code() == Code::kNotFound) file = true;
  }
  if (file) co_return false;
  co_return Fail(Code::kNoQuorum, "cannot tell what {} is: its servers stopped answering; retry",
                 path.text());
}

Task<Result<std::vector<Entry>>> ListStagedOn(Engine& engine, MemberIndex member) {
  Result<std::vector<Entry>> listed =
      co_await List(engine.MetadataCall(), engine.server(member), std::string(kStagedDirectory));
  if (!listed && listed.code() == Code::kNotFound) co_return std::vector<Entry>{};
  co_return std::move(listed);
}

// Archives that are on their way to the name, where too few are there.
Task<void> AddStaged(Engine& engine, XrdecName& name) {
  const Geometry& geometry = GeometryFor(engine.descriptor(), name.path.text());
  if (!name.in_register || name.holders.size() >= geometry.Total()) co_return;
  const StagedArchives staged = co_await ListStaged(engine);
  for (const StagedArchive& archive : staged.archives) {
    const std::optional<TakenAside>& aside = archive.name.aside;
    if (aside && (aside->path.empty() || aside->path == name.path.text())) name.aside = true;
    if (aside || archive.name.oid != name.registered.accepted.oid) continue;
    if (!Contains(name.holders, archive.member)) name.holders.push_back(archive.member);
  }
  std::sort(name.holders.begin(), name.holders.end());
}

Version VersionOf(const XrdecAttributes& attributes) {
  // Beyond the clock's range the time is no time.
  const uint64_t millis_max = UINT64_MAX >> kLogicalBits;
  Version version;
  version.clock = std::min(attributes.version, millis_max / 1000) * 1000 << kLogicalBits;
  return version;
}

}  // namespace

Task<Result<XrdecName>> LookUpXrdec(Engine& engine, ObjectPath path, XrdecWidth width) {
  Result<NameInfo> registered = co_await LookUp(engine, path.Registered());
  if (!registered) co_return InUserWords(registered.error());
  XrdecName name{.kind = XrdecName::kNothing, .path = path, .registered = std::move(*registered)};
  const Accepted& accepted = name.registered.accepted;
  name.in_register = accepted.kind == Accepted::kObject;
  if (name.in_register) {
    name.kind = XrdecName::kObject;
    name.size = accepted.size;
    name.version = accepted.version;
    if (width == XrdecWidth::kExistence) co_return std::move(name);
  }
  name.found = co_await FindEverywhere(engine, path, accepted);
  Verdict verdict = Judge(name.found, accepted, GeometryFor(engine.descriptor(), path.text()));
  switch (verdict.kind) {
    case Verdict::kNothing: break;
    case Verdict::kCannotTell:
      co_return Fail(Code::kNoQuorum, "cannot tell whether {} exists: too few data servers answer; retry",
                     path.text());
    case Verdict::kOther: {
      Result<bool> directory = co_await IsDirectory(engine, path, name.found);
      if (!directory) co_return directory.error();
      name.kind = *directory ? XrdecName::kDirectory : XrdecName::kUnfinished;
      break;
    }
    case Verdict::kObject:
      name.kind = XrdecName::kObject;
      name.size = verdict.attributes.file_size;
      name.at_name = verdict.holders;
      name.holders = std::move(verdict.holders);
      name.adler32 = verdict.attributes.adler32;
      if (!name.in_register) name.version = VersionOf(verdict.attributes);
      co_await AddStaged(engine, name);
      break;
  }
  co_return std::move(name);
}

Task<Result<XrdecName>> LookUpXrdecObject(Engine& engine, ObjectPath path, XrdecWidth width) {
  if (path.IsRoot()) co_return Fail(Code::kIsDirectory, "/ is a directory");
  Result<XrdecName> name = co_await LookUpXrdec(engine, path, width);
  if (!name) co_return name.error();
  switch (name->kind) {
    case XrdecName::kObject: break;
    case XrdecName::kDirectory: co_return Fail(Code::kIsDirectory, "{} is a directory", path.text());
    case XrdecName::kUnfinished:
      co_return Fail(Code::kNotFound, "{} does not exist (files without XrdEc's attributes lie there)",
                     path.text());
    case XrdecName::kNothing: co_return Fail(Code::kNotFound, "{} does not exist", path.text());
  }
  co_return std::move(name);
}

Task<StagedArchives> ListStaged(Engine& engine) {
  StagedArchives staged;
  ServerGather<Result<std::vector<Entry>>> gather(engine);
  for (const MemberIndex member : engine.AllByHealth()) gather.Start(member, ListStagedOn(engine, member));
  staged.silent = engine.server_count();
  while (gather.timely() > 0) {
    const auto event = co_await gather.Next();
    if (!event.value || !*event.value) continue;
    --staged.silent;
    const Result<std::vector<Entry>>& listed = *event.value;
    for (const Entry& entry : *listed) {
      std::optional<StagedName> name = StagedName::Parse(entry.name);
      if (!name || entry.directory) continue;
      StagedArchive archive{.member = event.member, .name = std::move(*name), .mtime_s = entry.mtime_s};
      staged.archives.push_back(std::move(archive));
    }
  }
  co_return std::move(staged);
}

Result<NameInfo> ForReading(const Engine& engine, const XrdecName& name) {
  NameInfo info{
      .path = name.path, .accepted = name.registered.accepted, .holders = name.holders, .listings = {}};
  if (!name.in_register) {
    info.accepted = Accepted();
    info.accepted.kind = Accepted::kObject;
    info.accepted.version = name.version;
    info.accepted.size = name.size;
  }
  // Archives of XEC know their own geometry: how many of them are needed shows when one is open.
  const size_t data_chunks = GeometryFor(engine.descriptor(), name.path.text()).data_chunks;
  const size_t needed = name.in_register ? 1 : data_chunks;
  // The empty object is read from its size alone.
  if (name.size == 0) return info;
  if (name.aside && name.holders.size() < data_chunks) {
    return Fail(Code::kUnavailable,
                "cannot read {} now: {} archives of it are found, and others were taken aside, perhaps by a "
                "removal that was overtaken: the cleaner judges them; retry",
                name.path.text(), name.holders.size());
  }
  if (name.holders.size() >= needed) return info;
  const auto silent = static_cast<size_t>(std::count_if(
      name.found.begin(), name.found.end(), [](const Found& found) { return found.kind == Found::kSilent; }));
  if (silent > 0) {
    return Fail(Code::kNoQuorum,
                "cannot read {} now: {} archives of it are found, {} are needed, and {} data "
                "servers do not answer; retry",
                name.path.text(), name.holders.size(), needed, silent);
  }
  return Fail(
      Code::kDataLoss,
      "{} has lost its data: {} archives of it are left and {} are needed (another client than XEC may "
      "have removed them; rm forgets the name)",
      name.path.text(), name.holders.size(), needed);
}

Error InUserWords(Error error) {
  for (size_t at = error.message.find(kNamesDirectory); at != std::string::npos;
       at = error.message.find(kNamesDirectory, at)) {
    error.message.erase(at, kNamesDirectory.size());
  }
  return error;
}

Status InUserWords(Status status) {
  if (status) return status;
  return InUserWords(status.error());
}

}  // namespace xec
