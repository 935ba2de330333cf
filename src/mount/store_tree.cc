// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/store_tree.hh"

#include <algorithm>

#include "mount/store_edit.hh"
#include "protocol/object_path.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// Names that an open directory holds at once.
constexpr size_t kPageNames = 1000;
// So long others who make the same name are waited for, looking again after a pause.
constexpr auto kRivalWait = std::chrono::seconds(3);
constexpr auto kRivalPause = std::chrono::milliseconds(50);
// Of attributes that are the store's, though it tells them beside those of users.
constexpr std::string_view kOwnPrefix = "xec.";

Task<void> Pause(Executor& executor, Duration time) {
  OneShot<bool> due;
  executor.RunAt(executor.Now() + time, [set = due.Setter()]() mutable { set(true); });
  co_await due;
}

class StoreReader final : public TreeReader {
 public:
  explicit StoreReader(std::shared_ptr<ReadHandle> handle)
      : handle_(std::move(handle)), version_(handle_->version().ToString()) {}

  uint64_t size() const override { return handle_->size(); }
  const std::string& version() const override { return version_; }
  bool stays() const override { return true; }
  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override {
    Result<uint64_t> got = SyncWait(handle_->Read(offset, into));
    // The version is gone; no try finds it again.
    if (!got && got.code() == Code::kConflict) return Fail(Code::kNotCurrent, "{}", got.error().message);
    return got;
  }

 private:
  const std::shared_ptr<ReadHandle> handle_;
  const std::string version_;
};

TreeEntry EntryOf(const ObjectInfo& info) {
  return {.directory = info.directory,
          .link = info.settings.link,
          .size = info.size,
          .mtime_ns = info.settings.mtime_ns.value_or(info.mtime_ms * kNanosInMilli),
          .mode = info.settings.mode,
          .version = info.version.ToString(),
          .ctime_ns = info.version.WallMillis() * kNanosInMilli};
}

class StoreTree final : public MountedTree {
 public:
  StoreTree(OpenedStore& opened, Caller caller, bool last_writer_wins)
      : opened_(opened),
        store_(opened.store()),
        scratch_(opened.configuration().ScratchDirectory(), opened.configuration().scratch_bytes),
        caller_(std::make_shared<const Caller>(std::move(caller))),
        last_writer_wins_(last_writer_wins) {}

  size_t path_bytes_max() const override { return kPathBytesMax; }

  Result<TreeEntry> Stat(const std::string& path) override {
    XEC_ASSIGN_OR_RETURN(const ObjectInfo info, SyncWait(store_.Stat(path, Call())));
    return EntryOf(info);
  }

  Result<TreePage> List(const std::string& directory, const std::string& after) override {
    XEC_ASSIGN_OR_RETURN(NamesPage page,
                         SyncWait(store_.List(directory, {.after = after, .limit = kPageNames}, Call())));
    TreePage out;
    out.more = page.more;
    for (ListedName& name : page.names) {
      const ObjectInfo info = {.directory = name.directory,
                               .size = name.size,
                               .mtime_ms = name.mtime_ms,
                               .version = name.version,
                               .settings = name.settings};
      out.names.push_back(
          {.name = std::move(name.name), .entry = EntryOf(info), .all_known = name.settings_known});
    }
    return out;
  }

  Result<std::shared_ptr<TreeReader>> OpenReader(const std::string& path) override {
    XEC_ASSIGN_OR_RETURN(std::shared_ptr<ReadHandle> handle, SyncWait(store_.Open(path, Call())));
    return std::shared_ptr<TreeReader>(std::make_shared<StoreReader>(std::move(handle)));
  }

  Result<std::shared_ptr<TreeEdit>> OpenEdit(const std::string& path, EditHow how) override {
    EditOptions options;
    options.upload = opened_.CreateOptionsFor(path);
    options.last_writer_wins = last_writer_wins_;
    return OpenStoreEdit(store_, scratch_, path, std::move(options), how, Call());
  }

  Result<TreeEntry> CreateFile(const std::string& path, uint32_t mode) override {
    return UnlessThere(path, [&] { return Make(path, "", Settings::OfMode(mode)); });
  }
  Result<TreeEntry> MakeLink(const std::string& path, const std::string& target) override {
    return UnlessThere(path, [&] { return Make(path, target, {.link = true}); });
  }

  Status Remove(const std::string& path) override { return SyncWait(store_.Remove(path, Call())); }
  Status MakeDirectory(const std::string& path) override {
    return UnlessThere(path, [&] { return SyncWait(store_.MakeDirectory(path, false, Call())); });
  }
  Status RemoveDirectory(const std::string& path) override {
    return SyncWait(store_.RemoveDirectory(path, Call()));
  }

  Status Rename(const std::string& from, const std::string& to, bool replace) override {
    RenameOptions options;
    if (!replace) {
      // The condition of a rename is for objects only.
      const Result<ObjectInfo> there = SyncWait(store_.Stat(to, Call()));
      if (there) return Fail(Code::kAlreadyExists, "{} exists", to);
      if (there.code() != Code::kNotFound) return there.error();
      XEC_ASSIGN_OR_RETURN(const ObjectInfo source, SyncWait(store_.Stat(from, Call())));
      options.target.absent = !source.directory;
    }
    return SyncWait(store_.Rename(from, to, options, Call()));
  }

  Status SetSettings(const std::string& path, const Settings& settings) override {
    return SyncWait(store_.SetSettings(path, settings, Call()));
  }

  Result<std::map<std::string, std::string>> Attributes(const std::string& path) override {
    XEC_ASSIGN_OR_RETURN(ObjectDescription all, SyncWait(store_.Describe(path, Call())));
    std::erase_if(all.attributes, [](const auto& one) { return one.first.starts_with(kOwnPrefix); });
    return std::move(all.attributes);
  }

  Status SetAttribute(const std::string& path, const std::string& name,
                      std::optional<std::string> value) override {
    if (name.starts_with(kOwnPrefix))
      return Fail(Code::kUnsupported, "attributes {}... are the store's own: choose another name",
                  kOwnPrefix);
    return SyncWait(store_.SetAttribute(path, name, std::move(value), Call()));
  }

  Result<TreeSpace> Space() override {
    XEC_ASSIGN_OR_RETURN(const StoreSpace space, SyncWait(store_.Space(Call())));
    return TreeSpace{space.usable_total_bytes, space.usable_free_bytes};
  }

  TreeState State() override {
    TreeState state = {.scratch_bytes = scratch_.used_bytes(), .scratch_limit_bytes = scratch_.limit_bytes()};
    const Result<StoreMaintenance*> maintenance = opened_.maintenance();
    // Nobody has answered yet.
    state.silent_servers = maintenance ? (*maintenance)->SilentServers() : opened_.notes();
    return state;
  }
  TreeLine Line() const override { return {scratch_.waiting(), scratch_.waited()}; }

 private:
  CallOptions Call() const { return {.caller = caller_}; }

  // Of several that make a name at once a loser may hear that somebody is in its way before the winner is
  // there. Programs expect to hear that the name is there.
  template <typename MakeIt>
  auto UnlessThere(const std::string& path, MakeIt make) -> decltype(make()) {
    Executor& executor = opened_.executor();
    const TimePoint until = executor.Now() + kRivalWait;
    while (true) {
      auto made = make();
      if (made || made.code() != Code::kConflict) return made;
      const Result<ObjectInfo> there = SyncWait(store_.Stat(path, Call()));
      if (there) return Fail(Code::kAlreadyExists, "{} exists", path);
      if (there.code() != Code::kNotFound || executor.Now() >= until) return made;
      SyncWait(Pause(executor, kRivalPause));
    }
  }

  // A small object, where there is nothing.
  Result<TreeEntry> Make(const std::string& path, std::string_view bytes, const Settings& settings) {
    CreateOptions options = opened_.CreateOptionsFor(path);
    options.make_parents = false;
    options.write.only_if = OnlyIf::Absent();
    options.write.settings = settings;
    XEC_ASSIGN_OR_RETURN(std::unique_ptr<WriteHandle> writer, SyncWait(store_.Create(path, options, Call())));
    if (!bytes.empty()) {
      const Scratch::Waits waits(scratch_);
      XEC_TRY(SyncWait(writer->Append(AsBytes(bytes), Call())));
    }
    XEC_ASSIGN_OR_RETURN(const Committed committed, SyncWait(writer->Commit(Call())));
    return EntryOf({.size = committed.size,
                    .mtime_ms = committed.version.WallMillis(),
                    .version = committed.version,
                    .settings = settings});
  }

  OpenedStore& opened_;
  Store& store_;
  Scratch scratch_;
  const std::shared_ptr<const Caller> caller_;
  const bool last_writer_wins_;
};

}  // namespace

std::unique_ptr<MountedTree> MakeStoreTree(OpenedStore& store, Caller caller, bool last_writer_wins) {
  return std::make_unique<StoreTree>(store, std::move(caller), last_writer_wins);
}

}  // namespace xec
