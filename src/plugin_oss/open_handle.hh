// SPDX-License-Identifier: LGPL-3.0-or-later
// OpenHandle: what an open file is, a reading, an upload or an edit.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/types.h>

#include <XrdOuc/XrdOucIOVec.hh>

namespace xec {

// Thread-safe: one client may have several requests under way.
class OpenHandle {
 public:
  virtual ~OpenHandle() = default;
  virtual ssize_t Read(void* buffer, off_t offset, size_t size) = 0;
  virtual ssize_t ReadV(XrdOucIOVec* pieces, int count) = 0;
  virtual ssize_t Write(const void* buffer, off_t offset, size_t size) = 0;
  virtual int Fstat(struct stat* out) = 0;
  virtual int Fchmod(mode_t mode) = 0;
  virtual int Ftruncate(unsigned long long size) = 0;
  virtual int Sync() { return 0; }
  virtual bool SyncCommits() const { return false; }
  // The client asks for Sync or Close, which then follows: brings what was written to where it can be
  // committed at once. False: that goes on after `patience`, and this has to be called again first.
  virtual bool Prepare(std::chrono::milliseconds) { return true; }
  virtual int Close() = 0;
  // Of the version that is read; "" of an upload.
  virtual std::string Tag() const { return ""; }
};

// While a thread opens a file through the file system in front, this learns what it is: XRootD's interface of
// open files does not tell the storage below whether a client closes one or has died, and cannot ask a client
// to come back.
class OpenOfThread {
 public:
  OpenOfThread();
  ~OpenOfThread();
  OpenOfThread(const OpenOfThread&) = delete;
  OpenOfThread& operator=(const OpenOfThread&) = delete;

  // Null: nobody is in front.
  static OpenOfThread* Get();
  void Opened(std::weak_ptr<OpenHandle> handle) { handle_ = std::move(handle); }
  const std::weak_ptr<OpenHandle>& handle() const { return handle_; }

 private:
  std::weak_ptr<OpenHandle> handle_;
};

}  // namespace xec
