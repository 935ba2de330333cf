// SPDX-License-Identifier: LGPL-3.0-or-later
// OpenHandle: what an open file is, a reading or an upload.
#pragma once

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
  virtual int Close() = 0;
  // Of the version that is read; "" of an upload.
  virtual std::string Tag() const { return ""; }
};

}  // namespace xec
