// SPDX-License-Identifier: LGPL-3.0-or-later
// A store in a map for tests of what front ends are made of. It answers at once and fails on demand.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "api/store.hh"
#include "base/check.hh"
#include "codec/object_digests.hh"

namespace xec {

class FakeStore final : public Store {
 public:
  struct Object {
    std::string bytes;
    Version version;
    std::map<std::string, std::string> attributes;
    std::map<std::string, std::string> later_checksums;
    Settings settings = {};

    int64_t mtime_ms() const {
      return settings.mtime_ns ? MillisOf(*settings.mtime_ns) : version.WallMillis();
    }
  };

  std::map<std::string, Object> objects;
  std::set<std::string> directories = {"/"};
  std::map<std::string, Settings> directory_settings;
  bool listed_settings_known = true;
  // Injected errors.
  std::optional<Code> all_fail, reserve_fails, append_fails, commit_fails, read_fails, end_stream_fails;
  uint64_t stripe_bytes = 1 << 20;  // uploads keep so many in memory
  std::function<void()> on_read;  // called, if set, by every read
  bool memory_short = false;  // uploads wait for memory until their entry in `waiting` is called
  std::vector<UniqueFunction<void(bool)>> waiting;
  UniqueFunction<void()> on_waiting;  // called, if set, when an upload has begun to wait
  bool place_kept = true;
  std::atomic<int> calls = 0;  // of the store, not of writers and readers
  int writers_alive = 0, commits = 0, abandons = 0, streams_ended = 0;
  std::multiset<std::string>
      sent;  // by uploads that have not ended: they stand in the way of conditional ones
  std::optional<ObjectGone> removed_as_seen;  // of the last removal
  StoreSpace space;

  void Put(const std::string& path, const std::string& bytes) {
    objects[path] = {bytes, Version{++clock_ << kLogicalBits, 1}, {}, {}, {}};
  }

  Task<Result<ObjectInfo>> Stat(std::string path, CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (directories.contains(path)) co_return ObjectInfo{true, 0, 1000, {}, directory_settings[path]};
    const auto found = objects.find(path);
    if (found == objects.end()) co_return Fail(Code::kNotFound, "{} does not exist", path);
    const Object& object = found->second;
    co_return ObjectInfo{false, object.bytes.size(), object.mtime_ms(), object.version, object.settings};
  }

  // One page.
  Task<Result<NamesPage>> List(std::string path, ListOptions, CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (!directories.contains(path)) co_return Fail(Code::kNotDirectory, "{} is no directory", path);
    std::vector<ListedName> names;
    for (const std::string& name : directories) {
      if (name != "/") names.push_back({name.substr(1), true, 0, 1000});
    }
    for (const auto& [name, object] : objects)
      names.push_back({name.substr(1), false, object.bytes.size(), 2500, object.version, object.settings,
                       listed_settings_known});
    co_return NamesPage{std::move(names), false};
  }

  class Writer final : public WriteHandle {
   public:
    Writer(FakeStore& store, std::string path, WriteOptions options)
        : store_(store),
          path_(std::move(path)),
          options_(std::move(options)),
          attributes_(options_.attributes),
          settings_(options_.settings) {
      ++store_.writers_alive;
    }
    ~Writer() override {
      NothingIsSent();
      --store_.writers_alive;
    }
    uint64_t size() const override { return bytes_.size(); }
    Task<Status> Reserve(CallOptions) override {
      if (store_.reserve_fails) co_return Fail(*store_.reserve_fails, "injected");
      if (!store_.memory_short) co_return OkStatus();
      OneShot<bool> admitted;
      store_.waiting.push_back(admitted.Setter());
      if (store_.on_waiting) store_.on_waiting();
      co_await admitted;
      co_return OkStatus();
    }
    bool KeepPlace() override { return store_.place_kept; }
    Task<Status> Append(ByteSpan bytes, CallOptions) override {
      XEC_CHECK(!ended_);
      if (store_.append_fails) co_return Fail(*store_.append_fails, "injected");
      bytes_ += AsText(bytes);
      if (!AllInMemory() && !std::exchange(sent_, true)) store_.sent.insert(path_);
      co_return OkStatus();
    }
    bool AllInMemory() const override { return !ended_ && bytes_.size() <= store_.stripe_bytes; }
    Task<Status> EndStream(CallOptions) override {
      if (store_.end_stream_fails) co_return Fail(*store_.end_stream_fails, "injected");
      ended_ = true;
      ++store_.streams_ended;
      co_return OkStatus();
    }
    Task<Result<uint64_t>> ReadBack(uint64_t offset, MutableByteSpan into, CallOptions) override {
      XEC_CHECK(ended_ || AllInMemory());
      if (store_.read_fails) co_return Fail(*store_.read_fails, "injected");
      co_return CopyOf(bytes_, offset, into);
    }
    Status SetUserAttributes(std::map<std::string, std::string> attributes) override {
      attributes_ = std::move(attributes);
      return OkStatus();
    }
    void SetSettings(Settings settings) override { settings_ = settings; }
    Task<Result<Committed>> Commit(CallOptions) override {
      if (store_.commit_fails) co_return Fail(*store_.commit_fails, "injected");
      Result<ObjectDigests> digests =
          ObjectDigests::Create({.md5 = true, .sha1 = true, .sha256 = true, .sha512 = true, .crc32 = true});
      digests->Add(std::as_bytes(std::span(bytes_)));
      const Status declared = CheckDeclared(path_, options_.declared_checksums, digests->Finish());
      if (!declared) co_return declared.error();
      const Status holds = store_.Holds(path_, options_.only_if);
      if (!holds) co_return holds.error();
      NothingIsSent();
      const bool conditional = options_.only_if.absent || options_.only_if.version;
      if (conditional && store_.sent.contains(path_))
        co_return Fail(Code::kConflict, "another upload of {} is under way", path_);
      if (options_.size_hint && *options_.size_hint != bytes_.size())
        co_return Fail(Code::kInvalidArgument, "less than was announced");
      ++store_.commits;
      store_.Put(path_, bytes_);
      Object& object = store_.objects[path_];
      object.attributes = attributes_;
      object.settings = settings_;
      Committed committed;
      committed.version = object.version;
      committed.size = bytes_.size();
      co_return std::move(committed);
    }
    Task<void> Abandon() override {
      NothingIsSent();
      ++store_.abandons;
      co_return;
    }

   private:
    void NothingIsSent() {
      if (std::exchange(sent_, false)) store_.sent.erase(store_.sent.find(path_));
    }

    FakeStore& store_;
    const std::string path_;
    const WriteOptions options_;
    std::string bytes_;
    bool ended_ = false;
    bool sent_ = false;
    std::map<std::string, std::string> attributes_;
    Settings settings_;
  };

  Task<Result<std::unique_ptr<WriteHandle>>> Create(std::string path, CreateOptions options,
                                                    CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (directories.contains(path)) co_return Fail(Code::kIsDirectory, "{} is a directory", path);
    const Status holds = Holds(path, options.write.only_if);
    if (!holds) co_return holds.error();
    co_return std::unique_ptr<WriteHandle>(std::make_unique<Writer>(*this, path, std::move(options.write)));
  }

  class Reader final : public ReadHandle {
   public:
    Reader(FakeStore& store, Object object) : store_(store), object_(std::move(object)) {}
    uint64_t size() const override { return object_.bytes.size(); }
    const Version& version() const override { return object_.version; }
    const Settings& settings() const override { return object_.settings; }
    Task<Result<uint64_t>> Read(uint64_t offset, MutableByteSpan into, CallOptions) override {
      if (store_.on_read) store_.on_read();
      if (store_.read_fails) co_return Fail(*store_.read_fails, "injected");
      co_return CopyOf(object_.bytes, offset, into);
    }
    Task<Status> ReadVector(std::vector<ReadPiece> pieces, CallOptions) override {
      for (const ReadPiece& piece : pieces) {
        Result<uint64_t> got = co_await Read(piece.offset, piece.into, {});
        if (!got) co_return got.error();
      }
      co_return OkStatus();
    }

   private:
    FakeStore& store_;
    const Object object_;
  };

  Task<Result<std::shared_ptr<ReadHandle>>> Open(std::string path, OnlyIf only_if, CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (directories.contains(path)) co_return Fail(Code::kIsDirectory, "{} is a directory", path);
    const auto found = objects.find(path);
    if (found == objects.end()) co_return Fail(Code::kNotFound, "{} does not exist", path);
    const Status holds = Holds(path, only_if);
    if (!holds) co_return holds.error();
    co_return std::shared_ptr<ReadHandle>(std::make_shared<Reader>(*this, found->second));
  }

  Task<Result<ObjectGone>> Remove(std::string path, OnlyIf only_if, CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    removed_as_seen = only_if.seen;
    const Status holds = Holds(path, only_if);
    if (!holds) co_return holds.error();
    if (directories.contains(path)) co_return Fail(Code::kIsDirectory, "{} is a directory", path);
    const auto found = objects.find(path);
    if (found == objects.end()) co_return Fail(Code::kNotFound, "{} does not exist", path);
    const ObjectGone gone{found->second.version, found->second.bytes.size()};
    objects.erase(found);
    co_return gone;
  }
  Task<Status> MakeDirectory(std::string path, bool, CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    const bool there = objects.contains(path) || !directories.insert(path).second;
    if (there) co_return Fail(Code::kAlreadyExists, "{} exists", path);
    co_return OkStatus();
  }
  Task<Status> RemoveDirectory(std::string path, CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (!objects.empty()) co_return Fail(Code::kNotEmpty, "{} is not empty", path);
    directories.erase(path);
    co_return OkStatus();
  }
  Task<Result<Renamed>> Rename(std::string from, std::string to, RenameOptions options,
                               CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (options.target.absent && objects.contains(to)) co_return Fail(Code::kAlreadyExists, "{} exists", to);
    const auto found = objects.find(from);
    if (found == objects.end()) co_return Fail(Code::kNotFound, "{} does not exist", from);
    Object object = std::move(found->second);
    objects.erase(found);
    Renamed renamed{.version = object.version, .size = object.bytes.size()};
    object.version = Version{++clock_ << kLogicalBits, 1};
    objects[to] = std::move(object);
    co_return renamed;
  }
  Task<Result<Committed>> Copy(std::string, std::string, CopyOptions, CallOptions) override {
    co_return Fail(Code::kUnsupported, "not here");
  }
  Task<Result<ObjectDescription>> Describe(std::string path, CallOptions) override {
    Result<ObjectInfo> info = co_await Stat(path, {});
    if (!info) co_return info.error();
    ObjectDescription all;
    all.info = *info;
    if (info->directory) co_return all;
    const Object& object = objects[path];
    all.checksums = {{"adler32", "0badcafe"}, {"crc32c", "00000001"}};
    all.checksums.insert(object.later_checksums.begin(), object.later_checksums.end());
    all.attributes = object.attributes;
    co_return all;
  }
  Task<Status> KeepChecksum(std::string path, Version version, std::string algorithm, std::string hex,
                            CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (objects[path].version != version) co_return Fail(Code::kNotCurrent, "{} was replaced", path);
    objects[path].later_checksums[algorithm] = hex;
    co_return OkStatus();
  }
  Task<Status> SetSettings(std::string path, Settings settings, CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (directories.contains(path)) {
      directory_settings[path] = directory_settings[path].With(settings);
      co_return OkStatus();
    }
    if (!objects.contains(path)) co_return Fail(Code::kNotFound, "{} does not exist", path);
    objects[path].settings = objects[path].settings.With(settings);
    co_return OkStatus();
  }
  Task<Status> SetAttribute(std::string path, std::string name, std::optional<std::string> value, OnlyIf,
                            CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    if (!objects.contains(path)) co_return Fail(Code::kNotFound, "{} does not exist", path);
    if (value) {
      objects[path].attributes[name] = *value;
    } else {
      objects[path].attributes.erase(name);
    }
    co_return OkStatus();
  }
  Task<Result<StoreSpace>> Space(CallOptions) override {
    if (auto problem = Problem()) co_return *problem;
    co_return space;
  }

 private:
  Status Holds(const std::string& path, const OnlyIf& only_if) const {
    const auto found = objects.find(path);
    if (only_if.absent && found != objects.end()) return Fail(Code::kAlreadyExists, "{} exists", path);
    const bool other =
        only_if.version && (found == objects.end() || found->second.version != *only_if.version);
    if (other) return Fail(Code::kNotCurrent, "{} was replaced", path);
    return OkStatus();
  }

  static uint64_t CopyOf(const std::string& bytes, uint64_t offset, MutableByteSpan into) {
    if (offset >= bytes.size()) return 0;
    return bytes.copy(reinterpret_cast<char*>(into.data()), into.size(), offset);
  }

  std::optional<Error> Problem() {
    ++calls;
    if (!all_fail) return std::nullopt;
    return Fail(*all_fail, "injected");
  }

  uint64_t clock_ = 1000;
};

}  // namespace xec
