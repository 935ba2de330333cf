// SPDX-License-Identifier: LGPL-3.0-or-later
// A tree in memory, for tests of a mount.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "mount/tree.hh"

namespace xec {

class MemoryTree final : public MountedTree {
 public:
  struct File {
    std::string bytes;
    int version = 0;
    Settings settings = {};
  };

  // What a client of another mount does.
  void Put(const std::string& path, const std::string& bytes) { files[path] = {bytes, ++versions, {}}; }

  size_t path_bytes_max() const override { return 1000; }

  Result<TreeEntry> Stat(const std::string& path) override {
    ++stats;
    if (directories.contains(path)) return TreeEntry{.directory = true};
    XEC_TRY(Find(path));
    return stat_entry ? *stat_entry : EntryOf(files[path]);
  }

  Result<TreePage> List(const std::string& directory, const std::string& after) override {
    ++lists;
    TreePage page;
    const std::string prefix = directory == "/" ? directory : directory + "/";
    for (const auto& [path, file] : files) {
      if (!path.starts_with(prefix) || path.find('/', prefix.size()) != std::string::npos) continue;
      const std::string name = path.substr(prefix.size());
      if (name <= after) continue;
      page.more = page.names.size() == page_names;
      if (page.more) break;
      page.names.push_back({.name = name, .entry = EntryOf(file)});
    }
    return page;
  }

  Result<std::shared_ptr<TreeReader>> OpenReader(const std::string& path) override {
    XEC_TRY(Find(path));
    return std::shared_ptr<TreeReader>(std::make_shared<Reader>(*this, files[path]));
  }
  Result<std::shared_ptr<TreeEdit>> OpenEdit(const std::string& path, EditHow how) override {
    XEC_TRY(Find(path));
    if (!how.only_if.empty() && how.only_if != std::to_string(files[path].version))
      return Fail(Code::kNotCurrent, "{} was replaced", path);
    return std::shared_ptr<TreeEdit>(std::make_shared<Edit>(*this, path, how.truncate));
  }
  Result<TreeEntry> CreateFile(const std::string& path, uint32_t mode) override {
    if (files.contains(path)) return Fail(Code::kAlreadyExists, "{} exists", path);
    Put(path, "");
    files[path].settings = Settings::OfMode(mode);
    return EntryOf(files[path]);
  }
  Status Remove(const std::string& path) override {
    XEC_TRY(Find(path));
    files.erase(path);
    return OkStatus();
  }
  Status MakeDirectory(const std::string& path) override {
    directories.insert(path);
    return OkStatus();
  }
  Status RemoveDirectory(const std::string& path) override {
    directories.erase(path);
    return OkStatus();
  }
  Status Rename(const std::string& from, const std::string& to, bool) override {
    XEC_TRY(Find(from));
    Put(to, files[from].bytes);
    files.erase(from);
    return OkStatus();
  }
  Status SetSettings(const std::string& path, const Settings& settings) override {
    if (directories.contains(path)) return OkStatus();
    XEC_TRY(Find(path));
    files[path].settings = files[path].settings.With(settings);
    return OkStatus();
  }
  Result<std::map<std::string, std::string>> Attributes(const std::string&) override { return attributes; }
  Status SetAttribute(const std::string&, const std::string&, std::optional<std::string>) override {
    return OkStatus();
  }
  Result<TreeSpace> Space() override { return TreeSpace(); }
  TreeState State() override { return {}; }

  std::map<std::string, File> files;
  std::set<std::string> directories = {"/"};
  size_t page_names = 3;
  int versions = 0, stats = 0, lists = 0, tries = 0, commits = 0, rests = 0, holds = 0, names_lost = 0;
  bool edits_take_settings = true, readers_stay = true;
  std::optional<Error> next_commit;  // what it answers, once
  std::optional<Error> every_commit;  // or each time
  std::optional<TreeEntry> stat_entry;  // of each file
  std::map<std::string, std::string> attributes;  // likewise
  std::function<void()> before_write;

 private:
  class Reader final : public TreeReader {
   public:
    Reader(const MemoryTree& tree, const File& file)
        : tree_(tree), bytes_(file.bytes), version_(std::to_string(file.version)) {}
    uint64_t size() const override { return bytes_.size(); }
    const std::string& version() const override { return version_; }
    bool stays() const override { return tree_.readers_stay; }
    Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override {
      return Copy(bytes_, offset, into);
    }

   private:
    const MemoryTree& tree_;
    const std::string bytes_, version_;
  };

  class Edit final : public TreeEdit {
   public:
    Edit(MemoryTree& tree, std::string path, bool truncate)
        : tree_(tree), path_(std::move(path)), changed_(truncate), version_(tree.files[path_].version) {
      if (!truncate) bytes_ = tree.files[path_].bytes;
    }
    uint64_t size() const override { return bytes_.size(); }
    std::string version() const override { return std::to_string(version_); }
    bool changed() const override { return changed_; }
    Result<uint64_t> Read(uint64_t offset, MutableByteSpan into) override {
      return Copy(bytes_, offset, into);
    }
    Status Write(uint64_t offset, ByteSpan bytes) override {
      if (tree_.before_write) tree_.before_write();
      changed_ = true;
      bytes_.resize(std::max(bytes_.size(), static_cast<size_t>(offset) + bytes.size()));
      bytes_.replace(static_cast<size_t>(offset), bytes.size(), AsText(bytes));
      return OkStatus();
    }
    Status Truncate(uint64_t size) override {
      changed_ = true;
      bytes_.resize(static_cast<size_t>(size));
      return OkStatus();
    }
    Result<bool> SetSettings(const Settings& settings) override {
      if (tree_.edits_take_settings) settings_ = settings_.With(settings);
      return tree_.edits_take_settings;
    }
    bool stays() const override { return tree_.readers_stay; }
    Result<bool> Rest() override {
      ++tree_.rests;
      return true;
    }
    Status Hold() override {
      ++tree_.holds;
      return OkStatus();
    }
    void LoseName() override { ++tree_.names_lost; }
    Result<std::string> Commit() override {
      ++tree_.tries;
      if (tree_.every_commit) return *tree_.every_commit;
      if (tree_.next_commit) return *std::exchange(tree_.next_commit, std::nullopt);
      if (!tree_.files.contains(path_)) return Fail(Code::kNotFound, "{} is gone", path_);
      if (tree_.files[path_].version != version_) return Fail(Code::kNotCurrent, "{} was replaced", path_);
      tree_.Put(path_, bytes_);
      tree_.files[path_].settings = std::exchange(settings_, {});
      ++tree_.commits;
      changed_ = false;
      version_ = tree_.files[path_].version;
      return version();
    }

   private:
    MemoryTree& tree_;
    const std::string path_;
    std::string bytes_;
    bool changed_;
    int version_;
    Settings settings_;
  };

  static uint64_t Copy(const std::string& bytes, uint64_t offset, MutableByteSpan into) {
    if (offset >= bytes.size()) return 0;
    const size_t count = std::min(into.size(), bytes.size() - static_cast<size_t>(offset));
    std::copy_n(AsBytes(bytes).begin() + static_cast<ptrdiff_t>(offset), count, into.begin());
    return count;
  }
  static TreeEntry EntryOf(const File& file) {
    return {.size = file.bytes.size(), .version = std::to_string(file.version)};
  }
  Status Find(const std::string& path) {
    if (directories.contains(path)) return Fail(Code::kIsDirectory, "{} is a directory", path);
    if (!files.contains(path)) return Fail(Code::kNotFound, "{} does not exist", path);
    return OkStatus();
  }
};

}  // namespace xec
