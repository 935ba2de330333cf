// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/xrdec_store.hh"

#include "base/text.hh"
#include "codec/object_digests.hh"
#include "protocol/later_checksums.hh"
#include "store/describe.hh"
#include "store/kind_said.hh"
#include "store/space.hh"
#include "store/told_attributes.hh"
#include "xrdec/change.hh"
#include "xrdec/clean.hh"
#include "xrdec/entry.hh"
#include "xrdec/plain_folder.hh"
#include "xrdec/writer.hh"

namespace xec {
namespace {

Task<Result<std::shared_ptr<ObjectReader>>> OpenArchives(Engine& engine, const XrdecName& name) {
  Result<NameInfo> info = ForReading(engine, name);
  if (!info) co_return info.error();
  co_return co_await ObjectReader::OpenXrdec(engine, std::move(*info));
}

// The manifest of an archive; of one that a stock client wrote, without checksums. An empty object's archives
// are empty files: its entry in the register has it, if it is there.
Task<Result<Manifest>> ManifestOf(Engine& engine, const XrdecName& name) {
  if (name.size == 0 && !name.in_register) co_return Manifest{};
  if (name.size == 0) {
    Result<std::shared_ptr<ObjectReader>> entry = co_await ObjectReader::Open(engine, name.registered);
    if (!entry) co_return entry.error();
    co_return co_await (*entry)->GetManifest();
  }
  Result<std::shared_ptr<ObjectReader>> reader = co_await OpenArchives(engine, name);
  if (!reader) co_return reader.error();
  co_return co_await (*reader)->GetManifest();
}

Error NoConditions(const std::string& path) {
  return Fail(Code::kUnsupported,
              "{}: layout xrdec cannot tell whether a version is current when it is changed", path);
}

}  // namespace

Task<Result<ObjectInfo>> XrdecStore::Stat(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  ObjectInfo result;
  result.directory = true;
  if (path->IsRoot()) co_return result;
  Result<XrdecName> name = co_await LookUpXrdec(engine_, *path, XrdecWidth::kExistence);
  if (!name) co_return name.error();
  if (name->kind == XrdecName::kNothing || name->kind == XrdecName::kUnfinished)
    co_return Fail(Code::kNotFound, "{} does not exist", path->text());
  result.directory = name->kind == XrdecName::kDirectory;
  const Status as_said = NeedKindSaid(text, result.directory);
  if (!as_said) co_return as_said.error();
  result.size = name->size;
  result.version = name->version;
  result.mtime_ms = name->version.WallMillis();
  if (!name->in_register) co_return result;
  result.settings = name->registered.accepted.given.settings;
  if (!result.directory) result.mtime_ms = MtimeMs(name->registered.accepted);
  co_return co_await TellAttributes(engine_, std::move(name->registered), std::move(result));
}

Task<Result<std::vector<ListedName>>> XrdecStore::List(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  co_return co_await ListXrdec(engine_, *path);
}

Task<Status> XrdecStore::NeedParent(ObjectPath path, bool make) {
  const ObjectPath parent = path.Parent();
  const TimePoint asked = engine_.executor().Now();
  KnownDirectories& known = engine_.known_directories();
  if (parent.IsRoot() || known.Known(parent, asked, KnownDirectories::kRemembered)) co_return OkStatus();
  Status there = co_await NeedXrdecDirectory(engine_, parent, make);
  // Folders have no versions here: an operation that puts something in one that has gone makes it again.
  if (there) known.Learn(parent, Version(), asked);
  co_return std::move(there);
}

Task<Result<std::unique_ptr<ObjectWriter>>> XrdecStore::Create(std::string text, CreateOptions options) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  const Status object = NeedObjectSaid(text);
  if (!object) co_return object.error();
  const Status parent = co_await NeedParent(*path, options.make_parents);
  if (!parent) co_return parent.error();
  if (options.write.only_if.version) co_return NoConditions(text);
  co_return co_await StartXrdecWriter(engine_, *path, std::move(options.write));
}

Task<Result<XrdecName>> XrdecStore::LookUpArchives(std::string text, ObjectPath path) {
  Result<XrdecName> name = co_await LookUpXrdecObject(engine_, std::move(path), XrdecWidth::kArchives);
  const Status as_said = NeedKindSaid(text, false);
  if (name && !as_said) co_return as_said.error();
  co_return std::move(name);
}

Task<Result<std::shared_ptr<ObjectReader>>> XrdecStore::OpenRead(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  Result<XrdecName> name = co_await LookUpArchives(text, *path);
  if (!name) co_return name.error();
  co_return co_await OpenArchives(engine_, *name);
}

Task<Result<ObjectGone>> XrdecStore::Remove(std::string text, OnlyIf only_if) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  if (only_if.version) co_return NoConditions(text);
  if (SaysDirectory(text)) co_return (co_await RefuseRemoval(*this, std::move(text))).error();
  co_return co_await RemoveXrdec(engine_, *path);
}

Task<Status> XrdecStore::MakeDirectory(std::string text, bool parents) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  co_return co_await MakeXrdecDirectory(engine_, *path, parents);
}

Task<Status> XrdecStore::RemoveDirectory(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  engine_.known_directories().Forget(*path);
  co_return co_await RemoveXrdecDirectory(engine_, *path);
}

Task<Result<Renamed>> XrdecStore::Rename(std::string from_text, std::string to_text, RenameOptions options) {
  if (options.source.version || options.target.version) co_return NoConditions(from_text);
  Result<ObjectPath> from = ObjectPath::Parse(from_text);
  if (!from) co_return from.error();
  Result<ObjectPath> to = ObjectPath::Parse(to_text);
  if (!to) co_return to.error();
  if (from->IsRoot() || to->IsRoot()) co_return Fail(Code::kInvalidArgument, "the root cannot be renamed");
  Result<XrdecName> source = co_await LookUpXrdec(engine_, *from, XrdecWidth::kExistence);
  if (!source) co_return source.error();
  if (source->kind == XrdecName::kDirectory) {
    co_return Fail(
        Code::kUnsupported,
        "{} is a directory, and layout xrdec cannot rename directories: move its objects one by one",
        from->text());
  }
  if (source->kind != XrdecName::kObject) co_return Fail(Code::kNotFound, "{} does not exist", from->text());
  const Status as_said = NeedKindSaid(from_text, to_text, false);
  if (!as_said) co_return as_said.error();
  const Status parent = co_await NeedParent(*to, true);
  if (!parent) co_return parent.error();
  co_return co_await RenameXrdec(engine_, *from, *to);
}

// A look at the archives knows the object's size; the empty one has no archive with checksums.
Task<Result<ObjectDescription>> XrdecStore::DescribeArchives(const XrdecName& name) {
  Result<Manifest> manifest = co_await ManifestOf(engine_, name);
  if (!manifest) co_return manifest.error();
  ObjectDescription all;
  xec::Describe(std::move(*manifest), all);
  if (name.size == 0) {
    DigestOptions options;
    options.md5 = options.sha1 = options.sha256 = options.sha512 = options.crc32 = options.zcrc32 = true;
    Result<ObjectDigests> digests = ObjectDigests::Create(options);
    if (!digests) digests = ObjectDigests::Create();
    if (!digests) co_return digests.error();
    all.checksums = digests->Finish();
  }
  if (name.adler32) all.checksums.emplace("adler32", Hex(*name.adler32, 8));
  co_return std::move(all);
}

Task<Result<ObjectDescription>> XrdecStore::Describe(std::string text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  ObjectDescription directory;
  directory.info.directory = true;
  if (path->IsRoot()) co_return std::move(directory);
  Result<XrdecName> name = co_await LookUpArchives(text, *path);
  if (!name && name.code() == Code::kIsDirectory) co_return std::move(directory);
  if (!name) co_return name.error();
  Result<std::optional<AttributeRevision>> set = co_await AttributesSetFor(*name);
  if (!set) co_return set.error();
  Result<ObjectDescription> all = co_await DescribeArchives(*name);
  if (!all) co_return all.error();
  all->info = {.size = name->size, .mtime_ms = name->version.WallMillis(), .version = name->version};
  if (name->in_register) {
    all->info.settings = name->registered.accepted.given.settings;
    all->info.mtime_ms = MtimeMs(name->registered.accepted);
  }
  if (*set) DescribeSet((*set)->set.Values(), *all);
  co_return std::move(all);
}

Task<Result<std::optional<AttributeRevision>>> XrdecStore::AttributesSetFor(const XrdecName& name) {
  if (!name.in_register) co_return std::optional<AttributeRevision>();
  co_return co_await ReadAttributesToTell(engine_, name.registered);
}

Task<Status> XrdecStore::ChangeAttributes(std::string text, AttributeChanges changes, OnlyIf only_if) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  if (only_if.version) co_return NoConditions(text);
  Result<XrdecName> name = co_await LookUpArchives(text, *path);
  if (!name && name.code() == Code::kIsDirectory)
    co_return Fail(Code::kUnsupported, "{}: directories of layout xrdec have no attributes", path->text());
  if (!name) co_return name.error();
  if (!name->in_register) {
    Result<Manifest> manifest = co_await ManifestOf(engine_, *name);
    if (!manifest) co_return manifest.error();
    for (const auto& [attribute, value] : changes) {
      if (!value && !manifest->attributes.contains(attribute))
        co_return Fail(Code::kNotFound, "{} has no attribute '{}'", path->text(), attribute);
    }
    name = co_await TakeOver(engine_, std::move(*name), XrdecWidth::kArchives);
    if (!name) co_return name.error();
    if (!name->in_register) co_return Fail(Code::kConflict, "{} was changed meanwhile; retry", path->text());
  }
  co_return co_await ChangeRegistered(std::move(*name), std::move(changes));
}

Task<Status> XrdecStore::ChangeRegistered(XrdecName name, AttributeChanges changes) {
  Result<Manifest> manifest = co_await ManifestOf(engine_, name);
  if (!manifest) co_return manifest.error();
  Result<std::optional<AttributeRevision>> current = co_await AttributesSetFor(name);
  if (!current) co_return current.error();
  AttributeChange change{.changes = std::move(changes),
                         .current = std::move(*current),
                         .written = std::move(manifest->attributes)};
  Status written = co_await ChangeAttribute(engine_, name.registered, std::move(change));
  co_return InUserWords(std::move(written));
}

// What a stock client wrote is not taken over for it, which would give it another version and time: a client
// that asks only reads.
Task<Status> XrdecStore::KeepChecksum(std::string text, Version version, std::string algorithm,
                                      std::string hex) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  if (!path) co_return path.error();
  Result<XrdecName> name = co_await LookUpXrdecObject(engine_, *path, XrdecWidth::kArchives);
  if (!name) co_return name.error();
  if (!name->in_register)
    co_return Fail(Code::kUnsupported, "{} was written by a stock client, with which no checksums are kept",
                   path->text());
  if (name->version != version) co_return NotCurrent(*path);
  AttributeChanges changes = {{std::string(kLaterChecksumPrefix) + algorithm, std::move(hex)}};
  co_return co_await ChangeRegistered(std::move(*name), std::move(changes));
}

Task<Result<StoreSpace>> XrdecStore::Space() { co_return co_await SumSpace(engine_); }

Task<Result<CleanReport>> XrdecStore::Clean(CleanOptions options) {
  Result<CleanOutcome> outcome = co_await CleanXrdec(engine_, std::move(options.turn));
  if (!outcome) co_return outcome.error();
  co_return CleanReport{outcome->names, outcome->removed, outcome->left, {}};
}

Task<Result<RepairReport>> XrdecStore::Repair(std::string text, RepairOptions) {
  co_return Fail(
      Code::kUnsupported,
      "objects of layout xrdec are not repaired in place, since stock clients read their archives at "
      "the only name they have: `xec get` {} to a file, `xec rm` it and `xec put` it back",
      text);
}

}  // namespace xec
