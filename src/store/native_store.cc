// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/native_store.hh"

#include "commit/clean/cleaner.hh"
#include "commit/programs/attributes.hh"
#include "commit/programs/parent.hh"
#include "commit/rename/rename.hh"
#include "commit/rename/rename_directory.hh"
#include "protocol/later_checksums.hh"
#include "store/describe.hh"
#include "store/kind_said.hh"
#include "store/space.hh"
#include "store/told_attributes.hh"

namespace xec {
namespace {

Task<Result<Manifest>> ManifestOf(Engine& engine, NameInfo info) {
  Result<std::shared_ptr<ObjectReader>> reader = co_await ObjectReader::Open(engine, std::move(info));
  if (!reader) co_return reader.error();
  co_return co_await (*reader)->GetManifest();
}

// The attributes the version was written with.
Task<Result<UserAttributes>> WrittenAttributes(Engine& engine, NameInfo info) {
  if (info.accepted.kind == Accepted::kDirectory) co_return UserAttributes{};
  Result<Manifest> manifest = co_await ManifestOf(engine, std::move(info));
  if (!manifest) co_return manifest.error();
  co_return std::move(manifest->attributes);
}

ObjectInfo InfoOf(const NameInfo& info) {
  const Accepted& here = info.accepted;
  return {.directory = here.kind == Accepted::kDirectory,
          .size = here.size,
          .mtime_ms = MtimeMs(here),
          .version = here.version,
          .settings = here.given.settings,
          .etag = here.given.etag};
}

}  // namespace

Task<Result<ObjectInfo>> NativeStore::Stat(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  ObjectInfo result;
  result.directory = true;
  if (path->IsRoot()) co_return result;
  Result<NameInfo> info = co_await LookUpLive(engine_, *path);
  if (!info) co_return info.error();
  result = InfoOf(*info);
  const Status as_said = NeedKindSaid(text, result.directory);
  if (!as_said) co_return as_said.error();
  co_return co_await TellAttributes(engine_, std::move(*info), std::move(result));
}

Task<Result<ObjectDescription>> NativeStore::Describe(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  ObjectDescription all;
  all.info.directory = true;
  if (path->IsRoot()) co_return std::move(all);
  Result<NameAttributes> found = co_await LookUpAttributes(engine_, *path);
  if (!found) co_return found.error();
  all.info = InfoOf(found->info);
  const Status as_said = NeedKindSaid(text, all.info.directory);
  if (!as_said) co_return as_said.error();
  if (!all.info.directory) {
    Result<Manifest> manifest = co_await ManifestOf(engine_, std::move(found->info));
    if (!manifest) co_return manifest.error();
    xec::Describe(std::move(*manifest), all);
  }
  if (found->set) DescribeSet(found->set->set.Values(), all);
  co_return std::move(all);
}

Task<Result<std::vector<ListedName>>> NativeStore::List(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  co_return co_await ListDirectory(engine_, *path, &rests_);
}

Task<Result<NamesPage>> NativeStore::ListPage(std::string text, ListOptions options) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  co_return co_await ListDirectoryPage(engine_, *path, std::move(options), &rests_, cursors_);
}

Task<Result<std::unique_ptr<ObjectWriter>>> NativeStore::Create(std::string text, CreateOptions options) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  const Status object = NeedObjectSaid(text);
  if (!object) co_return object.error();
  ParentNeed need{.make = options.make_parents, .begun = engine_.executor().Now()};
  const Status parent = co_await ExpectParent(engine_, *path, need);
  if (!parent) co_return parent.error();
  co_return co_await ObjectWriter::Start(engine_, *path, std::move(options.write), std::move(need));
}

Task<Result<NameInfo>> NativeStore::LookUpObject(std::string text, Result<ObjectPath> path) {
  if (!path) co_return path.error();
  if (path->IsRoot()) co_return Fail(Code::kIsDirectory, "/ is a directory");
  Result<NameInfo> info = co_await LookUpLive(engine_, *path);
  if (info && info->accepted.kind == Accepted::kDirectory)
    co_return Fail(Code::kIsDirectory, "{} is a directory", path->text());
  const Status as_said = NeedKindSaid(text, false);
  if (info && !as_said) co_return as_said.error();
  co_return std::move(info);
}

Task<Result<std::shared_ptr<ObjectReader>>> NativeStore::OpenRead(std::string text) {
  Result<NameInfo> info = co_await LookUpObject(text, ObjectPath::Parse(text));
  if (!info) co_return info.error();
  co_return co_await ObjectReader::Open(engine_, std::move(*info), damage_);
}

Task<Result<StoredNames>> NativeStore::ListStored(std::string directory) {
  Result<ObjectPath> path = ObjectPath::ParseStored(directory);
  if (!path) co_return path.error();
  Result<DirectoryContents> contents = co_await LookInto(engine_, std::move(*path));
  if (!contents) co_return contents.error();
  StoredNames stored{std::move(contents->names), {}, std::move(contents->shown_on)};
  for (const ObjectPath& gone : contents->gone) stored.gone.push_back(gone.text());
  co_return std::move(stored);
}

Task<Result<bool>> NativeStore::BringIntoTree(std::string text) {
  Result<ObjectPath> path = ObjectPath::ParseStored(text);
  if (!path) co_return path.error();
  bool made = false;
  for (ObjectPath below = *path; !below.IsRoot() && !below.Parent().IsRoot(); below = below.Parent()) {
    const ObjectPath parent = below.Parent();
    const Result<NameInfo> info = co_await LookUp(engine_, parent);
    if (!info) co_return info.error();
    if (info->accepted.kind == Accepted::kObject)
      co_return Fail(Code::kNotDirectory, "{} is an object, so no listing finds what is below it; rename it",
                     parent.text());
    if (info->accepted.Live()) continue;
    made = true;
    const ParentNeed need{.make = true, .begun = engine_.executor().Now()};
    const Status stands = co_await StandInParent(engine_, below, need);
    if (!stands) co_return stands.error();
  }
  co_return made;
}

// Below a directory that was forgotten the cleaner knows names only as they are on disk.
Task<Result<RepairReport>> NativeStore::Repair(std::string text, RepairOptions options) {
  Result<NameInfo> info = co_await LookUpObject(text, ObjectPath::ParseStored(text));
  if (!info) co_return info.error();
  co_return co_await RepairObject(engine_, std::move(*info), std::move(options));
}

Task<Result<ObjectGone>> NativeStore::Remove(std::string text, OnlyIf only_if) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  if (SaysDirectory(text)) co_return (co_await RefuseRemoval(*this, std::move(text))).error();
  if (only_if.seen && !only_if.version && !path->IsRoot())
    co_return co_await RemoveSeen(engine_, *path, *only_if.seen);
  co_return co_await RemoveObject(engine_, *path, only_if.version);
}

Task<Status> NativeStore::MakeDirectory(std::string text, bool parents) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  co_return co_await MakeDirectoryName(engine_, *path, parents);
}

Task<Status> NativeStore::RemoveDirectory(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  co_return co_await RemoveDirectoryName(engine_, *path);
}

Task<Result<Renamed>> NativeStore::Rename(std::string from_text, std::string to_text, RenameOptions options) {
  Result<ObjectPath> from = ObjectPath::Parse(from_text);
  if (!from) co_return from.error();
  Result<ObjectPath> to = ObjectPath::Parse(to_text);
  if (!to) co_return to.error();
  if (from->IsRoot() || to->IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be renamed");
  Result<NameInfo> info = co_await LookUpLive(engine_, *from);
  if (!info) co_return info.error();
  const bool directory = info->accepted.kind == Accepted::kDirectory;
  const Status as_said = NeedKindSaid(from_text, to_text, directory);
  if (!as_said) co_return as_said.error();
  const ParentNeed need{.make = true, .begun = engine_.executor().Now()};
  const Status parent = co_await ExpectParent(engine_, *to, need);
  if (!parent) co_return parent.error();
  if (directory && options.source.version && *options.source.version != info->accepted.version)
    co_return NotCurrent(*from);
  if (directory) {
    const Status renamed = co_await RenameDirectory(engine_, *from, *to);
    if (!renamed) co_return renamed.error();
    co_return Renamed{.directory = true};
  }
  RenameTerms terms;
  terms.parent = need;
  terms.source = options.source.version;
  terms.target = options.target;
  terms.seen = std::move(*info);
  co_return co_await RenameObject(engine_, *from, *to, std::move(terms));
}

Task<Status> NativeStore::KeepChecksum(std::string text, Version version, std::string algorithm,
                                       std::string hex) {
  std::string name = std::string(kLaterChecksumPrefix) + algorithm;
  co_return co_await SetAttribute(std::move(text), std::move(name), std::move(hex), OnlyIf::Current(version));
}

Task<Status> NativeStore::ChangeAttributes(std::string text, AttributeChanges changes, OnlyIf only_if) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  if (path->IsRoot()) co_return Fail(Code::kUnsupported, "the root has no attributes");
  Result<NameAttributes> found = co_await LookUpAttributes(engine_, *path);
  if (!found) co_return found.error();
  const Status as_said = NeedKindSaid(text, found->info.accepted.kind == Accepted::kDirectory);
  if (!as_said) co_return as_said.error();
  if (only_if.version && found->info.accepted.version != *only_if.version) co_return NotCurrent(*path);
  AttributeChange change{.changes = std::move(changes), .current = std::move(found->set), .written = {}};
  if (!change.current) {
    Result<UserAttributes> written = co_await WrittenAttributes(engine_, found->info);
    if (!written) co_return written.error();
    change.written = std::move(*written);
  }
  co_return co_await ChangeAttribute(engine_, std::move(found->info), std::move(change));
}

Task<Result<StoreSpace>> NativeStore::Space() { co_return co_await SumSpace(engine_); }

Task<Result<CleanReport>> NativeStore::Clean(CleanOptions options) {
  const Result<bool> resumed = co_await ResumeDirectoryRenames(engine_);
  Result<ObjectPath> root = ObjectPath::Parse("/");
  OnThin on_thin = [this](const ThinObject& object) {
    damage_->Report(object.path, object.version, "an archive is missing", engine_.executor().Now());
  };
  Result<CleanOutcome> outcome =
      co_await CleanTree(engine_, *root, std::move(on_thin), &rests_, std::move(options));
  if (!outcome) co_return outcome.error();
  // Something is renamed or being given up under the directory: this pass may have cleared the way for the
  // next.
  const bool in_the_way = !resumed && resumed.code() == Code::kConflict;
  if (!resumed && !in_the_way) co_return resumed.error();
  const bool later = in_the_way || (resumed && !*resumed);
  co_return CleanReport{.names = outcome->names,
                        .removed = outcome->removed,
                        .left = outcome->left + (later ? 1 : 0),
                        .thin = std::move(outcome->thin)};
}

}  // namespace xec
