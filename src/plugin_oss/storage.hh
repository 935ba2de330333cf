// SPDX-License-Identifier: LGPL-3.0-or-later
// Storage: XRootD's OSS interface over a Gateway. Thread-safe, as XRootD wants it.
#pragma once

#include <sys/stat.h>

#include <XrdOss/XrdOss.hh>

#include "plugin_oss/file_status.hh"
#include "plugin_oss/gateway.hh"

namespace xec {

class Storage final : public XrdOss {
 public:
  explicit Storage(Gateway& gateway) : gateway_(gateway) {}

  XrdOssDF* newDir(const char* tident) override;
  XrdOssDF* newFile(const char* tident) override;

  int Init(XrdSysLogger*, const char*) override { return 0; }
  // No asynchronous I/O: XRootD would cut it into pieces of 64 KiB. No sendfile: there is no file. Checksums
  // of pages (PGRW): File::pgRead has its own.
#if XrdVNUMBER >= 60000
  // What a cache asks of a name (cache_questions.hh).
  int FSctl(int command, int size, const char* question, char** answer) override;
  uint64_t Features() override { return XRDOSS_HASPGRW | XRDOSS_HASNAIO | XRDOSS_HASNOSF | XRDOSS_HASXERT; }
  bool getErrMsg(std::string& text) override { return TakeErrorText(text); }
#else
  uint64_t Features() override { return XRDOSS_HASPGRW | XRDOSS_HASNAIO | XRDOSS_HASNOSF; }
#endif

  // Kept and told by Stat (not by listings), as a user attribute; what it says is not enforced.
  int Chmod(const char* path, mode_t mode, XrdOucEnv* env) override;
  // -ENOTSUP: XRootD then hands creation to the Open that follows (as it does for its proxy). Takes the turn
  // of the name, which that Open gives back.
  int Create(const char* tid, const char* path, mode_t mode, XrdOucEnv& env, int opts) override;
  // With parents, a directory that is there is as good; over HTTP it is refused (status 405). An error may
  // leave the directory without the mode that the client wants.
  int Mkdir(const char* path, mode_t mode, int make_parents, XrdOucEnv* env) override;
  int Remdir(const char* path, int opts, XrdOucEnv* env) override;
  int Rename(const char* from, const char* to, XrdOucEnv* from_env, XrdOucEnv* to_env) override;
  // With a null env and no options it is XRootD's list of uploads (POSC) that asks, under a lock which all
  // uploads share. It wants to know whether to remove the object (at start), or to refuse a new one (Open
  // knows better), so the answer is "not found" without looking.
  int Stat(const char* path, struct stat* out, int opts, XrdOucEnv* env) override;
  int StatXA(const char* path, char* buffer, int& length, XrdOucEnv* env) override;
  int StatFS(const char* path, char* buffer, int& length, XrdOucEnv* env) override;
  int StatLS(XrdOucEnv& env, const char* path, char* buffer, int& length) override;
  int StatVS(XrdOssVSInfo* info, const char* name, int update) override;
  // To the size that the object has: clients "touch" so.
  int Truncate(const char* path, unsigned long long size, XrdOucEnv* env) override;
  // As stock XRootD's, it takes an empty directory too: clients that remove trees count on it.
  // With a null env XRootD drops an upload that was interrupted (POSC): the upload is ours to forget, the
  // object of that name is not ours to remove, and any error would keep the daemon from starting.
  int Unlink(const char* path, int opts, XrdOucEnv* env) override;

  int Lfn2Pfn(const char* path, char* buffer, int length) override;
  const char* Lfn2Pfn(const char* path, char* buffer, int length, int& error) override;

 private:
  // What is to be removed or renamed, if the client says under which condition.
  Result<OnlyIf> OnlyIfOf(const char* path, XrdOucEnv* env);
  // `told`: may be null.
  int StatName(const Attempt& operation, struct stat* out, TellAs as, ObjectInfo* told = nullptr);
  Result<StoreSpace> Space();

  Gateway& gateway_;
  Mutex space_mutex_;
  StoreSpace space_ XEC_GUARDED_BY(space_mutex_);
  TimePoint space_until_ XEC_GUARDED_BY(space_mutex_){};
};

}  // namespace xec
