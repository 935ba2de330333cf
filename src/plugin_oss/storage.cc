// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/storage.hh"

#include <algorithm>
#include <cstring>

#include <XrdOss/XrdOssVS.hh>
#include <XrdOuc/XrdOucEnv.hh>
#include <XrdSec/XrdSecEntity.hh>

#include "edit/object_edit.hh"
#include "plugin_access/client_access.hh"
#include "plugin_oss/cache_questions.hh"
#include "plugin_oss/caller.hh"
#include "plugin_oss/conditions.hh"
#include "plugin_oss/directory.hh"
#include "plugin_oss/file_status.hh"
#include "plugin_oss/group_space.hh"
#include "plugin_oss/opaque.hh"
#include "plugin_oss/read_file.hh"
#include "plugin_oss/wanted_settings.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// A query of the space costs a request to every server; monitoring asks often.
constexpr Duration kSpaceLifetime = std::chrono::seconds(10);

std::string_view ClientOf(XrdOucEnv* env) {
  const XrdSecEntity* entity = env == nullptr ? nullptr : env->secEnv();
  return entity == nullptr || entity->tident == nullptr ? "" : entity->tident;
}

CallOptions CallOf(XrdOucEnv* env) { return {.caller = CallerOf(env)}; }

// For XRootD's answers in a buffer. Returns 0.
int Print(const std::string& text, char* buffer, int& length) {
  length = snprintf(buffer, static_cast<size_t>(length), "%s", text.c_str());
  return 0;
}

TimePoint SteadyNow() { return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now()); }

}  // namespace

XrdOssDF* Storage::newDir(const char* tident) { return new Directory(gateway_, tident); }
XrdOssDF* Storage::newFile(const char* tident) { return new File(gateway_, tident); }

int Storage::Chmod(const char* path, mode_t mode, XrdOucEnv* env) {
  return Guarded("chmod", [&] {
    const Status set = SyncWait(gateway_.store().SetSettings(path, Settings::OfMode(mode), CallOf(env)));
    return Answer({"chmod", path, ClientOf(env)}, set);
  });
}

int Storage::Create(const char*, const char* path, mode_t, XrdOucEnv&, int) {
  return Guarded("create", [&] {
    TurnsOfDaemon().Take(path);
    return -ENOTSUP;
  });
}

int Storage::Mkdir(const char* path, mode_t mode, int make_parents, XrdOucEnv* env) {
  return Guarded("mkdir", [&] {
    const Attempt operation = {"mkdir", path, ClientOf(env)};
    Status made = SyncWait(gateway_.store().MakeDirectory(path, make_parents != 0, CallOf(env)));
    const std::optional<uint16_t> wanted = DirectoryModeWanted(mode);
    if (made && wanted) {
      made = SyncWait(gateway_.store().SetSettings(path, {.mode = wanted}, CallOf(env)));
      // Layout xrdec has no place for it.
      if (!made && made.code() == Code::kUnsupported) made = OkStatus();
    }
    // MKCOL always asks for parents, and has an answer of its own where something is there.
    const bool may_be_there = make_parents != 0 && !IsHttp(env);
    struct stat info;
    const bool there = !made && made.code() == Code::kAlreadyExists && may_be_there &&
                       StatName(operation, &info, TellAs::kStock) == 0 && S_ISDIR(info.st_mode);
    return there ? 0 : Answer(operation, made);
  });
}

int Storage::Remdir(const char* path, int, XrdOucEnv* env) {
  return Guarded("rmdir", [&] {
    return Answer({"rmdir", path, ClientOf(env)},
                  SyncWait(gateway_.store().RemoveDirectory(path, CallOf(env))));
  });
}

Result<OnlyIf> Storage::OnlyIfOf(const char* path, XrdOucEnv* env) {
  XEC_ASSIGN_OR_RETURN(const Conditions conditions, Conditions::OfChange(OpaqueOf(env)));
  return conditions.OfRemoval(gateway_, path, CallOf(env));
}

int Storage::Rename(const char* from, const char* to, XrdOucEnv* env, XrdOucEnv* target_env) {
  return Guarded("rename", [&] {
    const Attempt operation = {"rename", from, ClientOf(env)};
    const Result<OnlyIf> only_if = OnlyIfOf(from, env);
    if (!only_if) return Failed(operation, only_if.error());
    RenameOptions options;
    options.source = *only_if;
    options.target.absent = target_env != nullptr && target_env->Get(kTargetAbsent) != nullptr;
    return Answer(operation, SyncWait(gateway_.store().Rename(from, to, options, CallOf(env))));
  });
}

int Storage::StatName(const Attempt& operation, struct stat* out, TellAs as, ObjectInfo* told) {
  const Result<ObjectInfo> info = SyncWait(gateway_.store().Stat(std::string(operation.path)));
  if (!info) return Failed(operation, info.error());
  FillStat(gateway_, operation.path, *info, out, as);
  if (told != nullptr) *told = *info;
  return 0;
}

int Storage::Stat(const char* path, struct stat* out, int opts, XrdOucEnv* env) {
  if (env == nullptr && opts == 0) return -ENOENT;
  return Guarded("stat", [&] {
    // Before the look: what it finds is of this time or later.
    const TimePoint begun = SteadyNow();
    ObjectInfo told;
    const int answer = StatName({"stat", path, ClientOf(env)}, out, TellAsOf(OpaqueOf(env)), &told);
    if (answer == 0 && IsHttp(env)) gateway_.last_stats().Tell(ClientOf(env), path, told, begun);
    return answer;
  });
}

int Storage::StatXA(const char* path, char* buffer, int& length, XrdOucEnv* env) {
  return Guarded("stat", [&] {
    struct stat info;
    if (const int failed = StatName({"stat", path, ClientOf(env)}, &info, TellAs::kStock); failed != 0)
      return failed;
    return Print(fmt::format("oss.cgroup=public&oss.type={}&oss.used={}&oss.mt={}&oss.ct={}&oss.at={}&oss.u=*"
                             "&oss.g=*&oss.fs=w",
                             S_ISDIR(info.st_mode) ? 'd' : 'f', info.st_size, info.st_mtime, info.st_mtime,
                             info.st_mtime),
                 buffer, length);
  });
}

int Storage::Truncate(const char* path, unsigned long long size, XrdOucEnv* env) {
  return Guarded("truncate", [&] {
    EditOptions options;
    options.upload = gateway_.CreateOptionsFor(path);
    const Attempt operation = {"truncate", path, ClientOf(env)};
    const auto edit = SyncWait(
        ObjectEdit::Open(gateway_.store(), gateway_.scratch(), path, std::move(options), CallOf(env)));
    if (!edit) return Failed(operation, edit.error());
    const Status cut = SyncWait((*edit)->Truncate(size));
    if (!cut) return Failed(operation, cut.error());
    const Result<std::optional<Committed>> closed = SyncWait((*edit)->Close());
    return closed ? 0 : Failed(operation, closed.error());
  });
}

int Storage::Unlink(const char* path, int, XrdOucEnv* env) {
  if (env == nullptr) return 0;
  return Guarded("remove", [&] {
    const Attempt operation = {"remove", path, ClientOf(env)};
    Result<OnlyIf> only_if = OnlyIfOf(path, env);
    if (!only_if) return Failed(operation, only_if.error());
    if (HttpRemovalOfThread::Get())
      only_if->seen = gateway_.last_stats().ObjectJustTold(ClientOf(env), path, SteadyNow());
    Status removed = SyncWait(gateway_.store().Remove(path, *only_if, CallOf(env)));
    if (!removed && removed.code() == Code::kIsDirectory)
      removed = SyncWait(gateway_.store().RemoveDirectory(path, CallOf(env)));
    return Answer(operation, removed);
  });
}

#if XrdVNUMBER >= 60000
int Storage::FSctl(int command, int size, const char* question, char** answer) {
  if (command != XRDOSS_FSCTLFS || question == nullptr || answer == nullptr)
    return XrdOss::FSctl(command, size, question, answer);
  return Guarded("query", [&]() -> int {
    const std::optional<std::string> path =
        PathOfHeadQuestion(std::string_view(question, static_cast<size_t>(size)));
    if (!path) return -ENOTSUP;
    const Result<ObjectInfo> info = SyncWait(gateway_.store().Stat(*path));
    if (!info) return Failed({"query", *path, ""}, info.error());
    *answer = AnswerOf(EntityTag(gateway_, *path, info->version));
    return 0;
  });
}
#endif

Result<StoreSpace> Storage::Space() {
  {
    MutexLock lock(space_mutex_);
    if (SteadyNow() < space_until_) return space_;
  }
  XEC_ASSIGN_OR_RETURN(const StoreSpace space, SyncWait(gateway_.store().Space()));
  MutexLock lock(space_mutex_);
  space_ = space;
  space_until_ = SteadyNow() + kSpaceLifetime;
  return space;
}

int Storage::StatFS(const char* path, char* buffer, int& length, XrdOucEnv* env) {
  return Guarded("statfs", [&] {
    const Result<StoreSpace> space = Space();
    if (!space) return Failed({"statfs", path, ClientOf(env)}, space.error());
    const GroupSpace of = SpaceOf(*space, gateway_.UseOf(path));
    const auto free_mib = std::min<uint64_t>(of.free_bytes / kMiB, 0x7fffffff);
    const uint64_t taken = of.total_bytes - std::min(of.total_bytes, of.free_bytes);
    const uint64_t percent = of.total_bytes == 0 ? 0 : taken * 100 / of.total_bytes;
    // "nodes free-MiB utilisation-% nodes free-MiB utilisation-%": of writable space, then of staging space.
    return Print(fmt::format("1 {} {} 0 0 0", free_mib, percent), buffer, length);
  });
}

int Storage::StatLS(XrdOucEnv& env, const char* path, char* buffer, int& length) {
  return Guarded("space", [&] {
    const Result<StoreSpace> space = Space();
    if (!space) return Failed({"space", path, ClientOf(&env)}, space.error());
    const GroupSpace of = SpaceOf(*space, gateway_.UseOf(path));
    const std::string text = fmt::format(
        "oss.cgroup={}&oss.space={}&oss.free={}&oss.maxf={}&oss.used={}&oss.quota={}&xec.raw={}&xec."
        "rawfree={}",
        of.name, of.total_bytes, of.free_bytes, of.free_bytes, of.used_bytes, of.quota_bytes,
        space->raw_total_bytes, space->raw_free_bytes);
    return Print(text, buffer, length);
  });
}

int Storage::StatVS(XrdOssVSInfo* info, const char* name, int) {
  return Guarded("space", [&] {
    const Result<StoreSpace> space = Space();
    if (!space) return Failed({"space", "/", ""}, space.error());
    // XRootD asks by the name of a space, which is none of ours, or by a path.
    const bool is_path = name != nullptr && name[0] == '/';
    const GroupSpace of = SpaceOf(*space, gateway_.UseOf(is_path ? name : "/"));
    info->Total = static_cast<long long>(of.total_bytes);
    info->Free = static_cast<long long>(of.free_bytes);
    info->LFree = info->Free;
    info->Large = info->Total;
    info->Usage = static_cast<long long>(of.used_bytes);
    info->Quota = of.quota_bytes;
    info->Extents = 1;
    return 0;
  });
}

int Storage::Lfn2Pfn(const char* path, char* buffer, int length) {
  const size_t size = std::strlen(path) + 1;
  if (size > static_cast<size_t>(length)) return -ENAMETOOLONG;
  std::memcpy(buffer, path, size);
  return 0;
}

const char* Storage::Lfn2Pfn(const char* path, char*, int, int& error) {
  error = 0;
  return path;
}

}  // namespace xec
