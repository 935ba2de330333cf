// SPDX-License-Identifier: LGPL-3.0-or-later
#include "mount/fuse_session.hh"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <new>
#include <thread>

#include "base/log.hh"
#include "base/mutex.hh"
#include "mount/fuse_mount.hh"

namespace xec {
namespace {

// Requests that the kernel may have under way of which no program waits for each, as reading ahead.
constexpr unsigned kBackgroundMax = 64;
constexpr unsigned kTimeStepNs = 1;  // in which times are kept

// So many threads stay when there is less to do.
constexpr unsigned kIdleThreads = 16;

// After so long open files are looked after again; and where somebody waits for memory.
constexpr auto kTendInterval = std::chrono::seconds(2);
constexpr auto kTendHurry = std::chrono::milliseconds(200);

struct Served {
  Served(MountedTree& tree, const MountOptions& options, MountIdentity identity)
      : mount(tree, options, std::move(identity)) {}
  FuseMount mount;
  std::function<void()> ready;
};

void Initialized(void* data, fuse_conn_info* connection) {
  connection->max_background = kBackgroundMax;
  connection->time_gran = kTimeStepNs;
  auto& served = *static_cast<Served*>(data);
  if (served.ready) served.ready();
}

// Runs what answers the request. A C library called us, through which no exception may go.
template <typename Body>
void Answered(fuse_req_t request, Body body) noexcept {
  FuseMount& mount = static_cast<Served*>(fuse_req_userdata(request))->mount;
  mount.Begin();
  try {
    body(mount);
  } catch (const std::bad_alloc&) {
    fuse_reply_err(request, ENOMEM);
  } catch (const std::exception& error) {
    Log(LogLevel::kError, "mount", "unexpected exception: {}", error.what());
    fuse_reply_err(request, EIO);
  }
  mount.End();
}

fuse_lowlevel_ops NameOperations() {
  fuse_lowlevel_ops all = {};
  all.lookup = [](fuse_req_t r, fuse_ino_t directory, const char* name) {
    Answered(r, [&](FuseMount& mount) { mount.Lookup(r, directory, name); });
  };
  all.forget = [](fuse_req_t r, fuse_ino_t id, uint64_t lookups) {
    static_cast<Served*>(fuse_req_userdata(r))->mount.Forget(id, lookups);
    fuse_reply_none(r);
  };
  all.forget_multi = [](fuse_req_t r, size_t count, fuse_forget_data* forgets) {
    for (size_t i = 0; i < count; ++i)
      static_cast<Served*>(fuse_req_userdata(r))->mount.Forget(forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(r);
  };
  all.mknod = [](fuse_req_t r, fuse_ino_t directory, const char* name, mode_t mode, dev_t) {
    Answered(r, [&](FuseMount& mount) { mount.MakeNode(r, directory, name, mode); });
  };
  all.mkdir = [](fuse_req_t r, fuse_ino_t directory, const char* name, mode_t mode) {
    Answered(r, [&](FuseMount& mount) { mount.MakeDirectory(r, directory, name, mode); });
  };
  all.symlink = [](fuse_req_t r, const char* target, fuse_ino_t directory, const char* name) {
    Answered(r, [&](FuseMount& mount) { mount.MakeLink(r, directory, name, target); });
  };
  all.readlink = [](fuse_req_t r, fuse_ino_t id) {
    Answered(r, [&](FuseMount& mount) { mount.ReadLink(r, id); });
  };
  all.unlink = [](fuse_req_t r, fuse_ino_t directory, const char* name) {
    Answered(r, [&](FuseMount& mount) { mount.Unlink(r, directory, name); });
  };
  all.rmdir = [](fuse_req_t r, fuse_ino_t directory, const char* name) {
    Answered(r, [&](FuseMount& mount) { mount.RemoveDirectory(r, directory, name); });
  };
  all.rename = [](fuse_req_t r, fuse_ino_t from_directory, const char* from, fuse_ino_t to_directory,
                  const char* to, unsigned flags) {
    Answered(r, [&](FuseMount& mount) { mount.Rename(r, from_directory, from, to_directory, to, flags); });
  };
  all.opendir = [](fuse_req_t r, fuse_ino_t id, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.OpenDirectory(r, id, file); });
  };
  all.readdir = [](fuse_req_t r, fuse_ino_t, size_t size, off_t place, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.ReadDirectory(r, size, place, file, false); });
  };
  all.readdirplus = [](fuse_req_t r, fuse_ino_t, size_t size, off_t place, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.ReadDirectory(r, size, place, file, true); });
  };
  all.releasedir = [](fuse_req_t r, fuse_ino_t, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.ReleaseDirectory(r, file); });
  };
  // Changes of directories are durable when they are answered.
  all.fsyncdir = [](fuse_req_t r, fuse_ino_t, int, fuse_file_info*) { fuse_reply_err(r, 0); };
  return all;
}

void AddFileOperations(fuse_lowlevel_ops& all) {
  all.create = [](fuse_req_t r, fuse_ino_t directory, const char* name, mode_t mode, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.Create(r, directory, name, mode, file); });
  };
  all.open = [](fuse_req_t r, fuse_ino_t id, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.Open(r, id, file); });
  };
  all.read = [](fuse_req_t r, fuse_ino_t, size_t size, off_t offset, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.Read(r, size, offset, file); });
  };
  all.write = [](fuse_req_t r, fuse_ino_t, const char* bytes, size_t size, off_t offset,
                 fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.Write(r, bytes, size, offset, file); });
  };
  all.flush = [](fuse_req_t r, fuse_ino_t, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.Flush(r, file, "close"); });
  };
  all.fsync = [](fuse_req_t r, fuse_ino_t, int, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.Flush(r, file, "sync"); });
  };
  all.release = [](fuse_req_t r, fuse_ino_t, fuse_file_info* file) {
    Answered(r, [&](FuseMount& mount) { mount.Release(r, file); });
  };
  all.getattr = [](fuse_req_t r, fuse_ino_t id, fuse_file_info*) {
    Answered(r, [&](FuseMount& mount) { mount.GetAttributes(r, id); });
  };
  all.setattr = [](fuse_req_t r, fuse_ino_t id, struct stat* wanted, int which, fuse_file_info*) {
    Answered(r, [&](FuseMount& mount) { mount.SetAttributes(r, id, wanted, which); });
  };
  all.statfs = [](fuse_req_t r, fuse_ino_t) {
    Answered(r, [&](FuseMount& mount) { mount.StatFilesystem(r); });
  };
  all.getxattr = [](fuse_req_t r, fuse_ino_t id, const char* name, size_t size) {
    Answered(r, [&](FuseMount& mount) { mount.GetExtended(r, id, name, size); });
  };
  all.listxattr = [](fuse_req_t r, fuse_ino_t id, size_t size) {
    Answered(r, [&](FuseMount& mount) { mount.ListExtended(r, id, size); });
  };
  all.setxattr = [](fuse_req_t r, fuse_ino_t id, const char* name, const char* value, size_t size,
                    int flags) {
    Answered(r, [&](FuseMount& mount) { mount.SetExtended(r, id, name, {value, size}, flags); });
  };
  all.removexattr = [](fuse_req_t r, fuse_ino_t id, const char* name) {
    Answered(r, [&](FuseMount& mount) { mount.RemoveExtended(r, id, name); });
  };
}

// A thread that does some work when it is rung for, and again after the time that the work answers; until it
// goes.
class Attendant {
 public:
  using Pause = std::chrono::milliseconds;
  explicit Attendant(std::function<Pause()> work) : work_(std::move(work)), thread_([this] { Run(); }) {}
  // What was rung for is done.
  ~Attendant() {
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.NotifyAll();
  }

  void Ring() {
    const MutexLock lock(mutex_);
    rung_ = true;
    changed_.NotifyAll();
  }

 private:
  void Run() {
    SteadyTime due = std::chrono::steady_clock::now();
    MutexLock lock(mutex_);
    while (true) {
      while (!ended_ && !rung_ && std::chrono::steady_clock::now() < due) changed_.WaitUntil(mutex_, due);
      if (ended_ && !rung_) return;
      rung_ = false;
      lock.Unlock();
      due = std::chrono::steady_clock::now() + work_();
      lock.Lock();
    }
  }

  const std::function<Pause()> work_;
  Mutex mutex_;
  CondVar changed_;
  bool ended_ XEC_GUARDED_BY(mutex_) = false;
  bool rung_ XEC_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

class Session final : public FuseSession {
 public:
  Session(MountedTree& tree, const MountOptions& options, MountIdentity identity)
      : options_(options), served_(tree, options, std::move(identity)) {}

  ~Session() override {
    if (session_ != nullptr) fuse_session_destroy(session_);
  }

  Status Begin() {
    // The kernel checks modes and the owner, by what we tell it of them.
    std::string words = "default_permissions,subtype=xec";
    for (const std::string& option : options_.of_fuse) words += "," + option;
    const char* arguments[] = {"xec", "-o", words.c_str()};
    fuse_args args = FUSE_ARGS_INIT(3, const_cast<char**>(arguments));
    fuse_lowlevel_ops operations = NameOperations();
    AddFileOperations(operations);
    operations.init = Initialized;
    session_ = fuse_session_new(&args, &operations, sizeof operations, &served_);
    fuse_opt_free_args(&args);
    if (session_ == nullptr) return Fail(Code::kInvalidArgument, "the FUSE library refuses -o {}", words);
    served_.mount.SetSession(session_);
    return OkStatus();
  }

  Status Mount(const std::string& directory) override {
    if (fuse_session_mount(session_, directory.c_str()) == 0) return OkStatus();
    return Fail(Code::kPermissionDenied,
                "{} cannot be mounted on: root may, and others with fusermount3 of the package fuse3",
                directory);
  }

  Status Serve(std::function<void()> ready) override {
    served_.ready = std::move(ready);
    if (fuse_set_signal_handlers(session_) != 0) return Fail(Code::kUnavailable, "cannot handle signals");
    sigset_t ends;
    sigemptyset(&ends);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&ends, signal);
    pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
    fuse_loop_config* const config = fuse_loop_cfg_create();
    fuse_loop_cfg_set_max_threads(config, options_.threads);
    fuse_loop_cfg_set_idle_threads(config, std::min(options_.threads, kIdleThreads));
    FuseMount& mount = served_.mount;
    Attendant tender([&mount]() -> Attendant::Pause { return mount.Tend() ? kTendHurry : kTendInterval; });
    const int ended = Loop(*config);
    fuse_loop_cfg_destroy(config);
    fuse_remove_signal_handlers(session_);
    // This may wait for memory, too.
    mount.CommitAll();
    if (ended < 0) return Fail(Code::kUnavailable, "the kernel's requests cannot be read: error {}", -ended);
    return OkStatus();
  }

  void Unmount() override { fuse_session_unmount(session_); }

 private:
  int Loop(fuse_loop_config& config) {
    FuseMount& mount = served_.mount;
    // The threads that answer requests may all wait for files that are to be committed, and the kernel's
    // locks of names that are dropped may wait for them.
    Attendant flusher([&mount]() -> Attendant::Pause {
      mount.FlushForThoseWhoAsked();
      mount.CommitIdle();
      return kTendInterval;
    });
    mount.SetFlusher([&flusher] { flusher.Ring(); });
    return fuse_session_loop_mt(session_, &config);
  }

  const MountOptions options_;
  Served served_;
  fuse_session* session_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<FuseSession>> MakeFuseSession(MountedTree& tree, const MountOptions& options,
                                                     MountIdentity identity) {
  auto session = std::make_unique<Session>(tree, options, std::move(identity));
  XEC_TRY(session->Begin());
  return std::unique_ptr<FuseSession>(std::move(session));
}

}  // namespace xec
