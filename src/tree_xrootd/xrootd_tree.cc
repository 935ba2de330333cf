// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/xrootd_tree.hh"

#include <algorithm>
#include <climits>
#include <thread>

#include "base/log.hh"
#include "base/text.hh"
#include "runtime/thread_pool.hh"
#include "server_xrootd/xrootd_server.hh"
#include "tree_xrootd/cluster.hh"
#include "tree_xrootd/merge.hh"
#include "tree_xrootd/xrootd_file.hh"

namespace xec {
namespace {

constexpr std::string_view kScheme = "root://";
constexpr int kExecutorThreads = 2;  // they only hand answers over
// A file that was not used for so long is closed on the server, and opened again when it is used.
constexpr Duration kIdleMax = std::chrono::minutes(5);
constexpr Duration kLookForIdle = std::chrono::minutes(1);
constexpr int64_t kNanosInSecond = 1'000'000'000;
constexpr uint32_t kFileMode = 0644, kDirectoryMode = 0755;
// Attributes of the tree itself; the names are those of XrootdFS.
constexpr std::string_view kWorkersName = "xrootdfs.fs.workers";
constexpr std::string_view kServersName = "xrootdfs.fs.dataserverlist";
constexpr std::string_view kPermissionName = "xrootdfs.file.permission";

// Files that are open, for the thread that closes idle ones.
template <typename File>
class OpenFiles {
 public:
  void Add(const std::shared_ptr<File>& file) {
    const MutexLock lock(mutex_);
    std::erase_if(files_, [](const auto& weak) { return weak.expired(); });
    files_.push_back(file);
  }
  std::vector<std::shared_ptr<File>> All() {
    std::vector<std::shared_ptr<File>> all;
    const MutexLock lock(mutex_);
    for (const auto& weak : files_) {
      if (std::shared_ptr<File> file = weak.lock()) all.push_back(std::move(file));
    }
    return all;
  }

 private:
  Mutex mutex_;
  std::vector<std::weak_ptr<File>> files_ XEC_GUARDED_BY(mutex_);
};

using Members = std::vector<ClusterMemberPtr>;

class Tree final : public XrootdTree {
 public:
  Tree() : executor_("tree", kExecutorThreads) {}
  ~Tree() override {
    closes_idle_.request_stop();
    {
      const MutexLock lock(mutex_);
      ends_.NotifyAll();
    }
    if (closes_idle_.joinable()) closes_idle_.join();
    cluster_.reset();
    AbandonXrootdRequests(executor_);
  }

  Status Begin(const std::string& url) {
    XEC_ASSIGN_OR_RETURN(cluster_, Cluster::Open(url, executor_));
    XEC_ASSIGN_OR_RETURN(const Told top, Locate("/", nullptr));
    if (!top.entry.directory) return Fail(Code::kNotDirectory, "{} is no directory", url);
    closes_idle_ = std::jthread([this](const std::stop_token& stop) { CloseIdle(stop); });
    return OkStatus();
  }

  Status Refresh() override { return cluster_->Refresh(); }

  // The servers may take less, and then say so.
  size_t path_bytes_max() const override { return PATH_MAX; }

  Result<TreeEntry> Stat(const std::string& path) override {
    // So that a mount can be reached, and told what to do, whatever its servers do.
    if (path == "/") return TreeEntry{.directory = true};
    XEC_ASSIGN_OR_RETURN(const Told told, Locate(path, nullptr));
    return told.entry;
  }

  Result<TreePage> List(const std::string& directory, const std::string& after) override {
    XEC_TRY(CheckTreePath(directory));
    const Members all = cluster_->members();
    auto listings = cluster_->AskAll<std::vector<NamedEntry>>(
        all,
        [directory](const Endpoint& server, TimePoint deadline) { return server.List(directory, deadline); });
    const std::string above = directory == "/" ? "/" : directory + "/";
    for (size_t i = 0; cluster_->has_redirector() && i < all.size(); ++i) {
      if (!listings[i]) continue;
      for (const NamedEntry& named : *listings[i]) cluster_->SetPlace(above + named.name, all[i]);
    }
    TreePage page;
    XEC_ASSIGN_OR_RETURN(page.names, MergeListings(std::move(listings)));
    std::erase_if(page.names, [&](const NamedEntry& named) { return named.name <= after; });
    return page;
  }

  Result<std::shared_ptr<TreeReader>> OpenReader(const std::string& path) override {
    XEC_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> open, OpenAt(path, {.as = OpenAs::kRead}));
    const auto reader = std::make_shared<XrootdReader>(
        std::move(open), [this, path] { return OpenAt(path, {.as = OpenAs::kRead}); });
    readers_.Add(reader);
    return std::shared_ptr<TreeReader>(reader);
  }

  Result<std::shared_ptr<TreeEdit>> OpenEdit(const std::string& path, EditHow how) override {
    ClusterMemberPtr place;
    XEC_ASSIGN_OR_RETURN(const Told told, Locate(path, &place));
    if (told.entry.directory) return Fail(Code::kIsDirectory, "{} is a directory", path);
    const OpenWhat update = {.as = OpenAs::kUpdate};
    const OpenWhat replace = {.as = OpenAs::kReplace};
    const bool cut = how.truncate && told.entry.size > 0;
    // A gateway's replacement is an object of its own, without what the name had beside its bytes, and stands
    // also when the name has gone.
    const bool gateway = place->endpoint()->is_gateway();
    const bool anew = cut && !how.nameless && !gateway;
    XEC_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> open,
                         OpenFile::Open(place->endpoint(), path, anew ? replace : update));
    if (gateway && !how.only_if.empty() && open->told().entry.version != how.only_if)
      return Fail(Code::kNotCurrent, "{} was replaced", path);
    if (cut && !anew) XEC_TRY(open->Truncate(0));
    const auto edit = std::make_shared<XrootdEdit>(
        std::move(open), [this, path, update] { return OpenAt(path, update); },
        [this, path] { return Locate(path, nullptr); }, cut);
    edits_.Add(edit);
    return std::shared_ptr<TreeEdit>(edit);
  }

  Result<TreeEntry> CreateFile(const std::string& path, uint32_t mode) override {
    XEC_ASSIGN_OR_RETURN(TreeEntry entry, Make(path, "", Settings::OfMode(mode)));
    if (entry.mode.value_or(kFileMode) != mode) {
      XEC_TRY(SetSettings(path, Settings::OfMode(mode)));
      entry.mode = mode;
    }
    return entry;
  }

  Result<TreeEntry> MakeLink(const std::string& path, const std::string& target) override {
    if (!cluster_->door()->is_gateway()) return MountedTree::MakeLink(path, target);
    return Make(path, target, {.link = true});
  }

  Status Remove(const std::string& path) override {
    cluster_->ForgetPlace(path);
    const auto removed = Change(cluster_->members(), [path](const Endpoint& server, TimePoint deadline) {
      return server.Remove(path, deadline);
    });
    const Status done = MergeDone(removed, false);
    for (const Status& one : removed) {
      if (done && !one && one.code() != Code::kNotFound)
        Log(LogLevel::kWarning, "mount", "{} may come back: {}", path, one.error().message);
    }
    return done;
  }

  Status MakeDirectory(const std::string& path) override {
    cluster_->ForgetPlace(path);
    const auto made = Change(cluster_->members(), [path](const Endpoint& server, TimePoint deadline) {
      return server.MakeDirectory(path, kDirectoryMode, deadline);
    });
    return MergeMade(made);
  }

  Status RemoveDirectory(const std::string& path) override {
    cluster_->ForgetPlace(path);
    if (cluster_->has_redirector()) XEC_TRY(MustBeEmpty(path));
    const auto removed = Change(cluster_->members(), [path](const Endpoint& server, TimePoint deadline) {
      return server.RemoveDirectory(path, deadline);
    });
    return MergeDone(removed, true);
  }

  Status Rename(const std::string& from, const std::string& to, bool replace) override {
    cluster_->ForgetPlace(from);
    cluster_->ForgetPlace(to);
    if (cluster_->has_redirector()) return RenameInCluster(from, to, replace);
    if (!replace) {
      const Result<Told> there = Locate(to, nullptr);
      if (there) return Fail(Code::kAlreadyExists, "{} exists", to);
      if (there.code() != Code::kNotFound) return there.error();
    }
    const auto renamed = Change(cluster_->members(), [from, to](const Endpoint& server, TimePoint deadline) {
      return server.Rename(from, to, deadline);
    });
    return MergeDone(renamed, true);
  }

  Status SetSettings(const std::string& path, const Settings& settings) override {
    Settings wanted = settings;
    if (wanted.mtime_ns && !cluster_->door()->is_gateway()) {
      XEC_ASSIGN_OR_RETURN(const Told told, Locate(path, nullptr));
      // E.g. of a file that was just made. Servers tell seconds.
      if (told.entry.mtime_ns / kNanosInSecond == *wanted.mtime_ns / kNanosInSecond) wanted.mtime_ns.reset();
    }
    if (!wanted.Any()) return OkStatus();
    const auto set = Change(cluster_->members(), [path, wanted](const Endpoint& server, TimePoint deadline) {
      return server.SetSettings(path, wanted, deadline);
    });
    return MergeDone(set, false);
  }

  Result<std::map<std::string, std::string>> Attributes(const std::string& path) override {
    using All = std::map<std::string, std::string>;
    ClusterMemberPtr place;
    XEC_TRY(Locate(path, &place));
    return AskFirst<All>({place}, [path](const Endpoint& server, TimePoint deadline) {
      return server.Attributes(path, deadline);
    });
  }

  Status SetAttribute(const std::string& path, const std::string& name,
                      std::optional<std::string> value) override {
    const auto set =
        Change(cluster_->members(), [path, name, value](const Endpoint& server, TimePoint deadline) {
          return server.SetAttribute(path, name, value, deadline);
        });
    return MergeDone(set, false);
  }

  Result<TreeSpace> Space() override {
    const auto spaces = cluster_->AskAll<TreeSpace>(
        cluster_->members(),
        [](const Endpoint& server, TimePoint deadline) { return server.Space(deadline); });
    TreeSpace sum;
    bool any = false;
    for (const Result<TreeSpace>& space : spaces) {
      if (!space) continue;
      any = true;
      sum.total_bytes += space->total_bytes;
      sum.free_bytes += space->free_bytes;
    }
    if (!any) return spaces.front().error();
    return sum;
  }

  TreeState State() override {
    TreeState state = {.workers = cluster_->workers().count()};
    for (const ClusterMemberPtr& member : cluster_->members()) {
      if (member->failing()) state.silent_servers.push_back("root://" + member->endpoint()->host_port());
    }
    return state;
  }

  void ForgetNames() override { cluster_->ForgetPlaces(); }

  Result<std::string> OwnAttribute(const std::string& path, const std::string& name) override {
    if (name == kWorkersName) return fmt::format("{}", cluster_->workers().count());
    if (name == kServersName) {
      std::string list;
      for (const ClusterMemberPtr& member : cluster_->members())
        list += fmt::format("{}root://{}", list.empty() ? "" : "\n", member->endpoint()->host_port());
      return list;
    }
    if (name != kPermissionName) return MountedTree::OwnAttribute(path, name);
    XEC_ASSIGN_OR_RETURN(const Told told, Locate(path, nullptr));
    return fmt::format("{}{}{}", told.readable ? 'r' : '-', told.writable ? 'w' : '-',
                       told.enterable ? 'x' : '-');
  }

  Status SetOwnAttribute(const std::string& name, const std::string& value) override {
    if (name == kServersName) return cluster_->Refresh();
    if (name != kWorkersName) return MountedTree::SetOwnAttribute(name, value);
    const std::optional<uint64_t> count = ParseUint(value);
    if (!count || *count > Workers::kCountMax) {
      return Fail(Code::kInvalidArgument, "{}: '{}' is no number from 0 to {}", name, value,
                  Workers::kCountMax);
    }
    cluster_->workers().SetCount(*count);
    Log(LogLevel::kInfo, "mount", "{} workers ask for names", *count);
    return OkStatus();
  }

 private:
  // A new file, through the redirector if there is one.
  Result<TreeEntry> Make(const std::string& path, std::string_view bytes, const Settings& settings) {
    OpenWhat what = {.as = OpenAs::kCreate, .mode = kFileMode, .make_parents = cluster_->has_redirector()};
    if (cluster_->door()->is_gateway()) what.settings = settings;
    XEC_ASSIGN_OR_RETURN(const std::shared_ptr<OpenFile> open, OpenFile::Open(cluster_->door(), path, what));
    if (!bytes.empty()) XEC_TRY(open->Write(0, AsBytes(bytes)));
    XEC_TRY(open->Close());
    cluster_->SetPlace(path, cluster_->Find(open->host_port()));
    // A gateway's file is there since the close only.
    XEC_ASSIGN_OR_RETURN(Told told, Locate(path, nullptr));
    return std::move(told.entry);
  }

  template <typename F>
  std::vector<Status> Change(const Members& whom, F change) {
    return cluster_->AskAll<void>(whom, std::move(change));
  }

  template <typename T, typename F>
  Result<T> AskFirst(const Members& whom, F ask) {
    auto answers = cluster_->AskAll<T>(whom, std::move(ask));
    return std::move(answers.front());
  }

  // What a name is, and a server that has it. The server that had it last is asked alone; if it says nothing
  // good, all are asked at once, so that nobody waits for a redirector that looks for a name.
  Result<Told> Locate(const std::string& path, ClusterMemberPtr* place) {
    XEC_TRY(CheckTreePath(path));
    const auto stat = [path](const Endpoint& server, TimePoint deadline) {
      return server.Stat(path, deadline);
    };
    if (const ClusterMemberPtr last = cluster_->PlaceOf(path)) {
      Result<Told> told = AskFirst<Told>({last}, stat);
      if (place != nullptr) *place = last;
      if (told || !cluster_->has_redirector()) return told;
      cluster_->ForgetPlace(path);
    }
    const Members all = cluster_->members();
    const auto answers =
        cluster_->AskAll<Told>(all, stat, [](const Result<Told>& answer) { return answer.has_value(); });
    const Result<Told> merged = MergeFound(answers);
    for (size_t i = 0; merged && i < all.size(); ++i) {
      if (!answers[i] || answers[i]->entry.version != merged->entry.version) continue;
      cluster_->SetPlace(path, all[i]);
      if (place != nullptr) *place = all[i];
      break;
    }
    return merged;
  }

  Result<std::shared_ptr<OpenFile>> OpenAt(const std::string& path, const OpenWhat& what) {
    if (!cluster_->has_redirector()) return OpenFile::Open(cluster_->door(), path, what);
    ClusterMemberPtr place;
    XEC_TRY(Locate(path, &place));
    return OpenFile::Open(place->endpoint(), path, what);
  }

  Status MustBeEmpty(const std::string& path) {
    XEC_ASSIGN_OR_RETURN(const TreePage page, List(path, ""));
    if (!page.names.empty()) return Fail(Code::kNotEmpty, "{} is not empty", path);
    return OkStatus();
  }

  // Who has the name. Not found: nobody.
  Result<Members> Holders(const std::string& path, Told& told) {
    const Members all = cluster_->members();
    const auto answers = cluster_->AskAll<Told>(
        all, [path](const Endpoint& server, TimePoint deadline) { return server.Stat(path, deadline); });
    XEC_ASSIGN_OR_RETURN(told, MergeFound(answers));
    Members holders;
    for (size_t i = 0; i < all.size(); ++i) {
      if (answers[i]) holders.push_back(all[i]);
      // The rest of a directory would keep the old name, or another file hide behind the new one.
      if (!answers[i] && answers[i].code() != Code::kNotFound) return answers[i].error();
    }
    return holders;
  }

  Status RenameInCluster(const std::string& from, const std::string& to, bool replace) {
    Told source, target;
    XEC_ASSIGN_OR_RETURN(const Members holders, Holders(from, source));
    const Result<Members> there = Holders(to, target);
    if (!there && there.code() != Code::kNotFound) return there.error();
    if (there) {
      if (!replace) return Fail(Code::kAlreadyExists, "{} exists", to);
      if (target.entry.directory && !source.entry.directory)
        return Fail(Code::kIsDirectory, "{} is a directory", to);
      if (!target.entry.directory && source.entry.directory)
        return Fail(Code::kNotDirectory, "{} is a file", to);
      if (target.entry.directory) XEC_TRY(RemoveDirectory(to));
    }
    const auto renamed = Change(holders, [from, to](const Endpoint& server, TimePoint deadline) {
      return server.Rename(from, to, deadline);
    });
    XEC_TRY(MergeDone(renamed, true));
    if (!there || target.entry.directory) return OkStatus();
    Members others = *there;
    std::erase_if(others, [&](const ClusterMemberPtr& one) {
      return std::find(holders.begin(), holders.end(), one) != holders.end();
    });
    if (others.empty()) return OkStatus();
    const auto removed = Change(
        others, [to](const Endpoint& server, TimePoint deadline) { return server.Remove(to, deadline); });
    return MergeDone(removed, true);
  }

  void CloseIdle(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      {
        MutexLock lock(mutex_);
        if (!stop.stop_requested()) ends_.WaitUntil(mutex_, executor_.Now() + kLookForIdle);
      }
      const TimePoint idle_since = executor_.Now() - kIdleMax;
      for (const auto& reader : readers_.All()) reader->file().CloseIfIdleSince(idle_since);
      for (const auto& edit : edits_.All()) edit->CloseIfIdleSince(idle_since);
    }
  }

  ThreadPool executor_;
  std::unique_ptr<Cluster> cluster_;
  OpenFiles<XrootdReader> readers_;
  OpenFiles<XrootdEdit> edits_;
  Mutex mutex_;
  CondVar ends_;
  std::jthread closes_idle_;
};

}  // namespace

Result<std::unique_ptr<XrootdTree>> OpenXrootdTree(const std::string& url) {
  auto tree = std::make_unique<Tree>();
  XEC_TRY(tree->Begin(url));
  return std::unique_ptr<XrootdTree>(std::move(tree));
}

bool IsXrootdUrl(std::string_view text) { return text.starts_with(kScheme); }

}  // namespace xec
