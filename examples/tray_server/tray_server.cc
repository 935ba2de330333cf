// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tray_server.hh"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "server/path.hh"

namespace xec {
namespace {

constexpr size_t kNameBytesMax = 255;
constexpr uint64_t kTrayBytes = uint64_t{1} << 34;  // as told; nobody counts

struct Item {
  bool directory = false;
  std::string bytes;
  int64_t mtime_s = 0;
};
using ItemPtr = std::shared_ptr<Item>;

// All paths and what they name, the folders too; "/" is "". One request at a time.
class Tray {
 public:
  // Runs `work(tray)` under the lock, on the executor, and answers what it returns.
  template <typename T, typename Work>
  static void Run(std::shared_ptr<Tray> tray, Executor& executor, Done<T> done, Work work) {
    executor.Post(
        [tray = std::move(tray), &executor, done = std::move(done), work = std::move(work)]() mutable {
          std::unique_lock lock(tray->mutex_);
          tray->now_s_ = executor.WallNow() / 1000;
          Result<T> answer = Fail(Code::kUnavailable, "the tray is away");
          if (!tray->away_) answer = work(*tray);
          lock.unlock();
          done(std::move(answer));
        });
  }
  void SetAway(bool away) {
    std::lock_guard lock(mutex_);
    away_ = away;
  }

  Result<ItemPtr> Find(const std::string& path) const {
    XEC_TRY(CheckPath(path));
    const auto item = items_.find(path == "/" ? "" : path);
    if (item != items_.end()) return item->second;
    for (std::string_view above = path; above.size() > 1; above = ParentPath(above)) {
      const auto there = items_.find(above);
      if (there != items_.end() && !there->second->directory)
        return Fail(Code::kNotDirectory, "{} is a file", above);
    }
    return Fail(Code::kNotFound, "there is no {}", path);
  }
  Result<ItemPtr> FindFile(const std::string& path) const {
    XEC_ASSIGN_OR_RETURN(ItemPtr item, Find(path));
    if (item->directory) return Fail(Code::kIsDirectory, "{} is a directory", path);
    return item;
  }

  // Puts the item at a path where nothing is, and makes the folders above it.
  Status Put(const std::string& path, ItemPtr item) {
    XEC_TRY(CheckPath(path));
    for (std::string_view part = path; part.size() > 1; part = ParentPath(part)) {
      if (LastPart(part).size() > kNameBytesMax)
        return Fail(Code::kInvalidArgument, "a part of {} is longer than {} bytes", path, kNameBytesMax);
    }
    const Result<ItemPtr> there = Find(path);
    if (there) return Fail(Code::kAlreadyExists, "{} is there", path);
    if (there.code() != Code::kNotFound) return there.error();
    const std::string parent(ParentPath(path));
    if (!Find(parent)) XEC_TRY(Put(parent, std::make_shared<Item>(Item{true, {}, now_s_})));
    items_.emplace(path, std::move(item));
    (*Find(parent))->mtime_s = now_s_;
    return OkStatus();
  }
  Result<ItemPtr> Create(const std::string& path) {
    auto item = std::make_shared<Item>(Item{false, {}, now_s_});
    XEC_TRY(Put(path, item));
    return item;
  }
  Status MakeDirectory(const std::string& path) {
    if (const Result<ItemPtr> there = Find(path); there && (*there)->directory) return OkStatus();
    return Put(path, std::make_shared<Item>(Item{true, {}, now_s_}));
  }

  void Take(const std::string& path) {
    items_.erase(path);
    (*Find(std::string(ParentPath(path))))->mtime_s = now_s_;
  }
  Status Remove(const std::string& path) {
    XEC_ASSIGN_OR_RETURN(const ItemPtr item, FindFile(path));
    Take(path);
    return OkStatus();
  }
  Status RemoveDirectory(const std::string& path) {
    XEC_ASSIGN_OR_RETURN(const std::vector<Entry> entries, List(path));
    if (!entries.empty()) return Fail(Code::kNotEmpty, "{} is not empty", path);
    if (path == "/") return Fail(Code::kInvalidArgument, "the root stays");
    Take(path);
    return OkStatus();
  }
  Status Rename(const std::string& from, const std::string& to) {
    XEC_ASSIGN_OR_RETURN(const ItemPtr item, Find(from));
    if (from == "/" || to.starts_with(from + "/"))
      return Fail(Code::kInvalidArgument, "{} cannot go to {}", from, to);
    XEC_TRY(Put(to, item));
    Take(from);
    for (auto below = items_.lower_bound(from + "/");
         below != items_.end() && below->first.starts_with(from + "/"); below = items_.erase(below)) {
      items_.emplace(to + below->first.substr(from.size()), below->second);
    }
    return OkStatus();
  }

  Result<std::vector<Entry>> List(const std::string& path) const {
    XEC_ASSIGN_OR_RETURN(const ItemPtr directory, Find(path));
    if (!directory->directory) return Fail(Code::kNotDirectory, "{} is a file", path);
    const std::string before = path == "/" ? "/" : path + "/";
    std::vector<Entry> entries;
    for (auto item = items_.lower_bound(before); item != items_.end() && item->first.starts_with(before);
         ++item) {
      const std::string name = item->first.substr(before.size());
      if (name.find('/') != std::string::npos) continue;
      entries.push_back({name, item->second->directory, item->second->bytes.size(), item->second->mtime_s});
    }
    return entries;
  }

  int64_t now_s() const { return now_s_; }

 private:
  std::mutex mutex_;
  bool away_ = false;  // guarded by mutex_, as all below and all functions above but Run and SetAway
  int64_t now_s_ = 0;
  std::map<std::string, ItemPtr, std::less<>> items_ = {{"", std::make_shared<Item>(Item{true, {}, 0})}};
};

std::shared_ptr<Tray> TrayAt(const std::string& address) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<Tray>> trays;
  std::lock_guard lock(mutex);
  std::shared_ptr<Tray>& tray = trays[address];
  if (!tray) tray = std::make_shared<Tray>();
  return tray;
}

class TrayFile final : public ArchiveFile {
 public:
  TrayFile(std::shared_ptr<Tray> tray, Executor& executor, ItemPtr item)
      : tray_(std::move(tray)), executor_(executor), item_(std::move(item)), size_(item_->bytes.size()) {}

  uint64_t size() const override { return size_; }

  void Read(OpContext, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) override {
    Run(std::move(done), [item = item_, ranges = std::move(ranges), into](Tray&) {
      return ReadAll(item->bytes, ranges, into.span());
    });
  }
  void Write(OpContext, uint64_t offset, Slice from, Done<void> done) override {
    Run(std::move(done), [item = item_, offset, from](Tray& tray) {
      const ByteSpan bytes = from.span();
      if (item->bytes.size() < offset + bytes.size()) item->bytes.resize(offset + bytes.size());
      if (!bytes.empty()) std::memcpy(item->bytes.data() + offset, bytes.data(), bytes.size());
      item->mtime_s = tray.now_s();
      return OkStatus();
    });
  }
  void Sync(OpContext, Done<void> done) override {
    Run(std::move(done), [](Tray&) { return OkStatus(); });
  }
  void Close(OpContext, Done<void> done) override {
    Run(std::move(done), [](Tray&) { return OkStatus(); });
    closed_ = true;
  }

 private:
  static Result<uint64_t> ReadAll(const std::string& bytes, const std::vector<ByteRange>& ranges,
                                  MutableByteSpan into) {
    uint64_t got = 0;
    for (const ByteRange& range : ranges) {
      if (range.length > into.size() - got)
        return Fail(Code::kInvalidArgument, "the ranges are longer than the buffer");
      if (range.length == 0) continue;
      if (range.offset >= bytes.size()) break;
      const uint64_t count = std::min<uint64_t>(range.length, bytes.size() - range.offset);
      std::memcpy(into.data() + got, bytes.data() + range.offset, count);
      got += count;
      if (count < range.length) break;
    }
    return got;
  }
  template <typename T, typename Work>
  void Run(Done<T> done, Work work) {
    if (!closed_) return Tray::Run(tray_, executor_, std::move(done), std::move(work));
    executor_.Post(
        [done = std::move(done)]() mutable { done(Fail(Code::kCancelled, "the file is closed")); });
  }

  const std::shared_ptr<Tray> tray_;
  Executor& executor_;
  const ItemPtr item_;
  const uint64_t size_;
  std::atomic<bool> closed_ = false;
};

class TrayServer final : public DataServer {
 public:
  TrayServer(std::string address, Executor& executor)
      : address_(std::move(address)), executor_(executor), tray_(TrayAt(address_)) {}

  const std::string& name() const override { return address_; }
  void Open(OpContext, std::string path, OpenMode mode, Done<std::shared_ptr<ArchiveFile>> done) override {
    auto work = [tray = tray_, &executor = executor_, path,
                 mode](Tray& t) -> Result<std::shared_ptr<ArchiveFile>> {
      XEC_ASSIGN_OR_RETURN(ItemPtr item, mode == OpenMode::kCreate ? t.Create(path) : t.FindFile(path));
      return std::shared_ptr<ArchiveFile>(std::make_shared<TrayFile>(tray, executor, std::move(item)));
    };
    Tray::Run(tray_, executor_, std::move(done), std::move(work));
  }
  void List(OpContext, std::string path, Done<std::vector<Entry>> done) override {
    Tray::Run(tray_, executor_, std::move(done), [path](Tray& t) { return t.List(path); });
  }
  void Rename(OpContext, std::string from, std::string to, Done<void> done) override {
    Tray::Run(tray_, executor_, std::move(done), [from, to](Tray& t) { return t.Rename(from, to); });
  }
  void Remove(OpContext, std::string path, Done<void> done) override {
    Tray::Run(tray_, executor_, std::move(done), [path](Tray& t) { return t.Remove(path); });
  }
  void MakeDirectory(OpContext, std::string path, Done<void> done) override {
    Tray::Run(tray_, executor_, std::move(done), [path](Tray& t) { return t.MakeDirectory(path); });
  }
  void RemoveDirectory(OpContext, std::string path, Done<void> done) override {
    Tray::Run(tray_, executor_, std::move(done), [path](Tray& t) { return t.RemoveDirectory(path); });
  }
  void SetAttributes(OpContext, std::string, Attributes, Done<void> done) override {
    Tray::Run(tray_, executor_, std::move(done), [](Tray&) { return Status(NoAttributes()); });
  }
  void GetAttributes(OpContext, std::string, std::string, Done<Attributes> done) override {
    Tray::Run(tray_, executor_, std::move(done), [](Tray&) { return Result<Attributes>(NoAttributes()); });
  }
  void GetSpace(OpContext, Done<Space> done) override {
    Tray::Run(tray_, executor_, std::move(done),
              [](Tray&) { return Result<Space>({kTrayBytes, kTrayBytes}); });
  }

 private:
  static Error NoAttributes() { return Fail(Code::kUnsupported, "a tray has no attributes"); }

  const std::string address_;
  Executor& executor_;
  const std::shared_ptr<Tray> tray_;
};

}  // namespace

DataServerPtr MakeTrayServer(std::string address, Executor& executor) {
  return std::make_shared<TrayServer>(std::move(address), executor);
}

void SetTrayAway(const std::string& address, bool away) { TrayAt(address)->SetAway(away); }

}  // namespace xec
