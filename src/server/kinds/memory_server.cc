// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/kinds/memory_server.hh"

#include <algorithm>
#include <atomic>

#include "base/mutex.hh"
#include "server/kinds/memory_tree.hh"
#include "server/path.hh"

namespace xec {

// The server's state. Shared by all views, files and requests in flight.
class MemoryServer::Machine : public std::enable_shared_from_this<Machine> {
 public:
  Machine(std::string name, Executor& executor, MemoryServerOptions options)
      : name_(std::move(name)),
        executor_(executor),
        options_(std::move(options)),
        tree_(options_.capacity_bytes) {}

  const std::string& name() const { return name_; }

  // Sends a request: after one leg `effect(tree)` runs under the lock, after another one `done` on
  // `client`. `boot`, where set, is the boot of the server to which an open file belongs.
  template <typename T, typename Effect>
  void Request(Operation operation, Executor& client, std::optional<uint64_t> boot, Done<T> done,
               Effect effect) {
    const uint64_t sent_to = boot ? *boot : CurrentBoot();
    After(executor_, operation,
          [self = shared_from_this(), operation, &client, sent_to, done = std::move(done),
           effect = std::move(effect)]() mutable {
            Result<T> result = self->Execute<T>(sent_to, effect);
            self->After(client, operation, [done = std::move(done), result = std::move(result)]() mutable {
              done(std::move(result));
            });
          });
  }

  int64_t NowSeconds() const { return executor_.WallNow() / 1000; }

  // Runs under the lock: for the server's owner.
  template <typename F>
  auto With(F&& look) {
    MutexLock lock(mutex_);
    return look(tree_);
  }

  void Reboot(const std::function<void(MemoryTree&)>& change) {
    MutexLock lock(mutex_);
    ++boot_;
    change(tree_);
  }

  void SetDown(bool down) {
    MutexLock lock(mutex_);
    down_ = down;
  }
  bool down() const {
    MutexLock lock(mutex_);
    return down_;
  }
  uint64_t CurrentBoot() const {
    MutexLock lock(mutex_);
    return boot_;
  }

 private:
  template <typename T, typename Effect>
  Result<T> Execute(uint64_t sent_to, Effect& effect) {
    MutexLock lock(mutex_);
    if (down_) return Fail(Code::kUnavailable, "{} is down", name_);
    if (sent_to != boot_) return Fail(Code::kUnavailable, "{} was restarted meanwhile", name_);
    Result<T> result = effect(tree_, boot_);
    if (!result) return Fail(result.code(), "{} on {}", result.error().message, name_);
    return result;
  }

  void After(Executor& executor, Operation operation, Closure work) {
    const Duration delay = options_.latency ? options_.latency(operation) : Duration(0);
    if (delay > Duration(0)) {
      executor.RunAt(executor.Now() + delay, std::move(work));
    } else {
      executor.Post(std::move(work));
    }
  }

  const std::string name_;
  Executor& executor_;
  const MemoryServerOptions options_;
  mutable Mutex mutex_;
  MemoryTree tree_ XEC_GUARDED_BY(mutex_);
  uint64_t boot_ XEC_GUARDED_BY(mutex_) = 1;
  bool down_ XEC_GUARDED_BY(mutex_) = false;
};

class MemoryServer::File final : public ArchiveFile {
 public:
  File(std::shared_ptr<Machine> machine, Executor& client, MemoryNodePtr node, uint64_t boot)
      : machine_(std::move(machine)),
        client_(client),
        node_(std::move(node)),
        boot_(boot),
        size_(node_->content.size()) {}

  uint64_t size() const override { return size_; }

  void Read(OpContext, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) override {
    if (Refused(done)) return;
    machine_->Request<uint64_t>(
        Operation::kRead, client_, boot_, std::move(done),
        [node = node_, ranges = std::move(ranges), into = std::move(into)](MemoryTree&,
                                                                           uint64_t) -> Result<uint64_t> {
          uint64_t got = 0;
          const MutableByteSpan bytes = into.span();
          for (const ByteRange& range : ranges) {
            if (range.length > bytes.size() - got) {
              return Fail(Code::kInvalidArgument, "the ranges are longer than the buffer");
            }
            if (range.offset >= node->content.size() && range.length > 0) break;
            const uint64_t count = std::min<uint64_t>(range.length, node->content.size() - range.offset);
            const std::optional<BadSector>& bad = node->bad_sector;
            if (bad && bad->offset >= range.offset && bad->offset - range.offset < count)
              return Fail(bad->code, "Input/output error");
            if (count > 0) std::memcpy(bytes.data() + got, node->content.data() + range.offset, count);
            got += count;
            if (count < range.length) break;
          }
          return got;
        });
  }

  void Write(OpContext, uint64_t offset, Slice from, Done<void> done) override {
    if (Refused(done)) return;
    machine_->Request<void>(
        Operation::kWrite, client_, boot_, std::move(done),
        [machine = machine_.get(), node = node_, offset, from = std::move(from)](MemoryTree& tree, uint64_t) {
          return tree.Write(*node, offset, from.span(), machine->NowSeconds());
        });
  }

  void Sync(OpContext, Done<void> done) override {
    if (Refused(done)) return;
    machine_->Request<void>(Operation::kSync, client_, boot_, std::move(done),
                            [node = node_](MemoryTree&, uint64_t) {
                              MemoryTree::Sync(*node);
                              return OkStatus();
                            });
  }

  void Close(OpContext, Done<void> done) override {
    if (Refused(done)) return;
    closed_ = true;
    machine_->Request<void>(Operation::kClose, client_, boot_, std::move(done),
                            [](MemoryTree&, uint64_t) { return OkStatus(); });
  }

 private:
  // True after Close; `done` is told so then.
  template <typename T>
  bool Refused(Done<T>& done) {
    if (!closed_) return false;
    client_.Post([done = std::move(done)]() mutable { done(Fail(Code::kCancelled, "the file is closed")); });
    return true;
  }

  const std::shared_ptr<Machine> machine_;
  Executor& client_;
  const MemoryNodePtr node_;
  const uint64_t boot_;
  const uint64_t size_;
  std::atomic<bool> closed_ = false;
};

class MemoryServer::View final : public DataServer {
 public:
  View(std::shared_ptr<Machine> machine, Executor& client) : machine_(std::move(machine)), client_(client) {}

  const std::string& name() const override { return machine_->name(); }

  void Open(OpContext, std::string path, OpenMode mode, Done<std::shared_ptr<ArchiveFile>> done) override {
    const bool create = mode == OpenMode::kCreate;
    Send<std::shared_ptr<ArchiveFile>>(
        create ? Operation::kCreate : Operation::kOpen, std::move(done),
        [machine = machine_, &client = client_, path = std::move(path), create](
            MemoryTree& tree, uint64_t boot) -> Result<std::shared_ptr<ArchiveFile>> {
          XEC_TRY(CheckPath(path));
          XEC_ASSIGN_OR_RETURN(MemoryNodePtr node,
                               create ? tree.Create(path, machine->NowSeconds()) : tree.OpenForRead(path));
          return std::shared_ptr<ArchiveFile>(std::make_shared<File>(machine, client, std::move(node), boot));
        });
  }

  void List(OpContext, std::string path, Done<std::vector<Entry>> done) override {
    Send<std::vector<Entry>>(
        Operation::kList, std::move(done),
        [path = std::move(path)](MemoryTree& tree, uint64_t) -> Result<std::vector<Entry>> {
          XEC_TRY(CheckPath(path));
          return tree.List(path);
        });
  }

  void Rename(OpContext, std::string from, std::string to, Done<void> done) override {
    Send<void>(Operation::kRename, std::move(done),
               [machine = machine_.get(), from = std::move(from), to = std::move(to)](MemoryTree& tree,
                                                                                      uint64_t) -> Status {
                 XEC_TRY(CheckPath(from));
                 XEC_TRY(CheckPath(to));
                 return tree.Rename(from, to, machine->NowSeconds());
               });
  }

  void Remove(OpContext, std::string path, Done<void> done) override {
    Send<void>(Operation::kRemove, std::move(done),
               [machine = machine_.get(), path = std::move(path)](MemoryTree& tree, uint64_t) -> Status {
                 XEC_TRY(CheckPath(path));
                 return tree.Remove(path, machine->NowSeconds());
               });
  }

  void MakeDirectory(OpContext, std::string path, Done<void> done) override {
    Send<void>(Operation::kMakeDirectory, std::move(done),
               [machine = machine_.get(), path = std::move(path)](MemoryTree& tree, uint64_t) -> Status {
                 XEC_TRY(CheckPath(path));
                 return tree.MakeDirectory(path, machine->NowSeconds());
               });
  }

  void RemoveDirectory(OpContext, std::string path, Done<void> done) override {
    Send<void>(Operation::kRemoveDirectory, std::move(done),
               [machine = machine_.get(), path = std::move(path)](MemoryTree& tree, uint64_t) -> Status {
                 XEC_TRY(CheckPath(path));
                 return tree.RemoveDirectory(path, machine->NowSeconds());
               });
  }

  void SetAttributes(OpContext, std::string path, Attributes attributes, Done<void> done) override {
    Send<void>(
        Operation::kSetAttributes, std::move(done),
        [path = std::move(path), attributes = std::move(attributes)](MemoryTree& tree, uint64_t) -> Status {
          XEC_TRY(CheckPath(path));
          return tree.SetAttributes(path, attributes);
        });
  }

  void GetAttributes(OpContext, std::string path, std::string prefix, Done<Attributes> done) override {
    Send<Attributes>(Operation::kGetAttributes, std::move(done),
                     [path = std::move(path), prefix = std::move(prefix)](MemoryTree& tree,
                                                                          uint64_t) -> Result<Attributes> {
                       XEC_TRY(CheckPath(path));
                       return tree.GetAttributes(path, prefix);
                     });
  }

  void GetSpace(OpContext, Done<Space> done) override {
    Send<Space>(Operation::kGetSpace, std::move(done), [](MemoryTree& tree, uint64_t) -> Result<Space> {
      const uint64_t used = std::min(tree.used_bytes(), tree.capacity_bytes());
      return Space{tree.capacity_bytes(), tree.capacity_bytes() - used, {}};
    });
  }

 private:
  template <typename T, typename Effect>
  void Send(Operation operation, Done<T> done, Effect effect) {
    machine_->Request<T>(operation, client_, std::nullopt, std::move(done), std::move(effect));
  }

  const std::shared_ptr<Machine> machine_;
  Executor& client_;
};

struct MemoryServer::Snapshot {
  MemoryTree tree;
};

MemoryServer::MemoryServer(std::string name, Executor& executor, MemoryServerOptions options)
    : machine_(std::make_shared<Machine>(std::move(name), executor, std::move(options))),
      view_(std::make_shared<View>(machine_, executor)) {}

MemoryServer::~MemoryServer() = default;

DataServerPtr MemoryServer::ViewFor(Executor& client) { return std::make_shared<View>(machine_, client); }

void MemoryServer::Crash(uint64_t seed) {
  machine_->Reboot([&](MemoryTree& tree) {
    Random random(seed);
    tree.LoseUnsynced(random);
  });
}

void MemoryServer::Restart() {
  machine_->Reboot([](MemoryTree&) {});
}

void MemoryServer::Wipe() {
  machine_->Reboot([](MemoryTree& tree) { tree = MemoryTree(tree.capacity_bytes()); });
}

void MemoryServer::SetDown(bool down) { machine_->SetDown(down); }
bool MemoryServer::down() const { return machine_->down(); }

std::shared_ptr<const MemoryServer::Snapshot> MemoryServer::Take() const {
  return machine_->With(
      [](MemoryTree& tree) { return std::make_shared<const Snapshot>(Snapshot{tree.Copy()}); });
}

void MemoryServer::Restore(const std::shared_ptr<const Snapshot>& snapshot) {
  machine_->Reboot([&](MemoryTree& tree) { tree = snapshot->tree.Copy(); });
}

std::map<std::string, uint64_t> MemoryServer::Files() const {
  return machine_->With([](MemoryTree& tree) {
    std::map<std::string, uint64_t> sizes;
    for (const auto& [path, node] : tree.Files()) sizes.emplace(path, node->content.size());
    return sizes;
  });
}

std::optional<std::string> MemoryServer::Content(const std::string& path) const {
  return machine_->With([&](MemoryTree& tree) -> std::optional<std::string> {
    const Result<MemoryNodePtr> node = tree.OpenForRead(path);
    if (!node) return std::nullopt;
    return (*node)->content;
  });
}

bool MemoryServer::Tamper(const std::string& path, const std::function<void(std::string&)>& change) {
  return machine_->With([&](MemoryTree& tree) {
    const Result<MemoryNodePtr> node = tree.OpenForRead(path);
    if (node) tree.Replace(**node, change);
    return node.has_value();
  });
}

bool MemoryServer::SpoilSector(const std::string& path, BadSector sector) {
  return machine_->With([&](MemoryTree& tree) {
    const Result<MemoryNodePtr> node = tree.OpenForRead(path);
    if (node) (*node)->bad_sector = sector;
    return node.has_value();
  });
}

uint64_t MemoryServer::used_bytes() const {
  return machine_->With([](MemoryTree& tree) { return tree.used_bytes(); });
}

void MemoryServer::SetCapacity(uint64_t bytes) {
  machine_->With([&](MemoryTree& tree) { tree.set_capacity(bytes); });
}

const std::string& MemoryServer::name() const { return machine_->name(); }

}  // namespace xec
