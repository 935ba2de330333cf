// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/remembering_tree.hh"

#include "mount/directory_times.hh"
#include "mount/listing_cache.hh"
#include "mount/mounted_file.hh"

namespace xec {
namespace {

using Clock = std::chrono::steady_clock;

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool MayHaveChanged(const Status& status) { return status || status.code() == Code::kUnknown; }

// Its commits change what the listing of its directory tells.
class RememberedEdit final : public TreeEdit {
 public:
  RememberedEdit(std::shared_ptr<TreeEdit> inner, ListingCache& listings, std::string directory)
      : inner_(std::move(inner)), listings_(listings), directory_(std::move(directory)) {}

  uint64_t size() const override { return inner_->size(); }
  std::string version() const override { return inner_->version(); }
  bool changed() const override { return inner_->changed(); }
  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override { return inner_->Read(offset, into); }
  Status Write(uint64_t offset, ByteSpan bytes) override { return inner_->Write(offset, bytes); }
  Status Truncate(uint64_t size) override { return inner_->Truncate(size); }
  Result<bool> SetSettings(const Settings& settings) override { return inner_->SetSettings(settings); }
  bool stays() const override { return inner_->stays(); }
  Result<bool> Rest() override { return inner_->Rest(); }
  Status Hold() override { return inner_->Hold(); }
  void LoseName() override { inner_->LoseName(); }
  Result<std::string> Commit() override {
    Result<std::string> committed = inner_->Commit();
    listings_.Forget(directory_);
    return committed;
  }

 private:
  const std::shared_ptr<TreeEdit> inner_;
  ListingCache& listings_;
  const std::string directory_;
};

class RememberingTree final : public MountedTree {
 public:
  RememberingTree(MountedTree& inner, std::chrono::milliseconds valid) : inner_(inner), listings_(valid) {}

  size_t path_bytes_max() const override { return inner_.path_bytes_max(); }

  Result<TreeEntry> Stat(const std::string& path) override {
    Result<TreeEntry> entry = inner_.Stat(path);
    if (entry) TellTime(path, *entry);
    return entry;
  }

  Result<TreePage> List(const std::string& directory, const std::string& after) override {
    std::shared_ptr<const TreePage> known = listings_.Find(directory, after, Clock::now());
    TreePage page;
    if (known) {
      page = *known;
    } else {
      const uint64_t begun = listings_.BeginReading(directory, Clock::now());
      Result<TreePage> read = inner_.List(directory, after);
      listings_.EndReading(directory, begun, after, read ? std::optional<TreePage>(*read) : std::nullopt,
                           Clock::now());
      if (!read) return read;
      page = *std::move(read);
    }
    const std::string above = directory == "/" ? directory : directory + "/";
    for (NamedEntry& named : page.names) TellTime(above + named.name, named.entry);
    return page;
  }

  Result<std::shared_ptr<TreeReader>> OpenReader(const std::string& path) override {
    return inner_.OpenReader(path);
  }
  Result<std::shared_ptr<TreeEdit>> OpenEdit(const std::string& path, EditHow how) override {
    XEC_ASSIGN_OR_RETURN(std::shared_ptr<TreeEdit> edit, inner_.OpenEdit(path, how));
    return std::shared_ptr<TreeEdit>(
        std::make_shared<RememberedEdit>(std::move(edit), listings_, DirectoryOf(path)));
  }
  Result<TreeEntry> CreateFile(const std::string& path, uint32_t mode) override {
    return Made(path, inner_.CreateFile(path, mode));
  }
  Result<TreeEntry> MakeLink(const std::string& path, const std::string& target) override {
    return Made(path, inner_.MakeLink(path, target));
  }

  Status Remove(const std::string& path) override { return EntriesChanged(path, inner_.Remove(path)); }
  Status MakeDirectory(const std::string& path) override {
    times_.Forget(path);
    return EntriesChanged(path, inner_.MakeDirectory(path));
  }
  Status RemoveDirectory(const std::string& path) override {
    const Status removed = inner_.RemoveDirectory(path);
    listings_.ForgetBelow(path);
    return EntriesChanged(path, removed);
  }
  Status Rename(const std::string& from, const std::string& to, bool replace) override {
    const Status renamed = inner_.Rename(from, to, replace);
    for (const std::string& path : {from, to}) {
      listings_.ForgetBelow(path);
      (void)EntriesChanged(path, renamed);
    }
    if (!renamed) return renamed;
    // A directory keeps the time that it has.
    const int64_t changed_ns = times_.TimeOf(from, 0);
    for (const std::string& path : {from, to}) times_.Forget(path);
    if (changed_ns > 0) times_.Changed(to, changed_ns);
    return renamed;
  }

  Status SetSettings(const std::string& path, const Settings& settings) override {
    if (settings.mtime_ns) times_.Forget(path);
    return AttributesChanged(path, inner_.SetSettings(path, settings));
  }
  Result<std::map<std::string, std::string>> Attributes(const std::string& path) override {
    return inner_.Attributes(path);
  }
  Status SetAttribute(const std::string& path, const std::string& name,
                      std::optional<std::string> value) override {
    return AttributesChanged(path, inner_.SetAttribute(path, name, std::move(value)));
  }

  Result<TreeSpace> Space() override { return inner_.Space(); }
  TreeState State() override { return inner_.State(); }
  TreeLine Line() const override { return inner_.Line(); }
  void ForgetNames() override {
    listings_.ForgetAll();
    inner_.ForgetNames();
  }
  Result<std::string> OwnAttribute(const std::string& path, const std::string& name) override {
    return inner_.OwnAttribute(path, name);
  }
  Status SetOwnAttribute(const std::string& name, const std::string& value) override {
    return inner_.SetOwnAttribute(name, value);
  }

 private:
  void TellTime(const std::string& path, TreeEntry& entry) const {
    if (!entry.directory) return;
    entry.ctime_ns = times_.TimeOf(path, entry.ctime_ns.value_or(entry.mtime_ns));
    entry.mtime_ns = times_.TimeOf(path, entry.mtime_ns);
  }

  // What was done to this name is done to its directory. Also after an error: it may tell of what another
  // machine has changed.
  Status EntriesChanged(const std::string& path, Status status) {
    const std::string directory = DirectoryOf(path);
    listings_.Forget(directory);
    if (MayHaveChanged(status)) times_.Changed(directory, MountClockMs() * kNanosInMilli);
    return status;
  }
  Result<TreeEntry> Made(const std::string& path, Result<TreeEntry> made) {
    (void)EntriesChanged(path, made ? OkStatus() : Status(made.error()));
    return made;
  }
  Status AttributesChanged(const std::string& path, Status status) {
    listings_.Forget(DirectoryOf(path));
    return status;
  }

  MountedTree& inner_;
  ListingCache listings_;
  DirectoryTimes times_;
};

}  // namespace

std::unique_ptr<MountedTree> MakeRememberingTree(MountedTree& inner, std::chrono::milliseconds valid) {
  return std::make_unique<RememberingTree>(inner, valid);
}

}  // namespace xec
