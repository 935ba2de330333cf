// SPDX-License-Identifier: LGPL-3.0-or-later
// What a client sends: a connection of its own and the files it has open on it. Only on the loop's thread.
// Errors are sentences that name the operation and the path.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "XrdCl/XrdClFile.hh"
#include "XrdCl/XrdClFileSystem.hh"
#include "base/result.hh"
#include "load/loop.hh"
#include "load/pieces.hh"

namespace xec::load {

// Sets what XrdCl needs for many connections in one process, and raises the limit of open files for `clients`
// of them. Before the first use of XrdCl. Error: the limit cannot be raised so far.
Status PrepareProcess(int clients);

class Connection {
 public:
  // XrdCl has one connection for each user name and server, so that client `number` is user "cNNN".
  Connection(Loop& loop, const std::string& url, int number);

  Loop& loop() const { return loop_; }
  const std::string& name() const { return name_; }

  Task<Status> Connect();
  // The size of the object.
  Task<Result<uint64_t>> Stat(std::string path);
  Task<Status> Remove(std::string path);
  XrdCl::FileSystem& filesystem() { return filesystem_; }
  std::string UrlOf(const std::string& path) const { return base_ + "/" + path; }

 private:
  Loop& loop_;
  const std::string name_;
  const std::string base_;
  XrdCl::FileSystem filesystem_;
};

// "read /a failed: ..." unless the answer is OK.
Status Check(const Reply& reply, const char* verb, const std::string& path);

// One open file. Close it, also after errors, and await all its requests before it goes.
class RemoteFile {
 public:
  RemoteFile(Connection& connection, std::string path);

  const std::string& path() const { return path_; }

  // As xrdcp without --force: a new name, its size announced.
  Task<Status> Create(uint64_t size);
  // Answers the size.
  Task<Result<uint64_t>> Open();
  // Error also when the connection was lost: XrdCl calls that a success.
  Task<Status> Close();

  // Buffers belong to the caller and stay until the request has been awaited. `pages`: with page checksums.
  void StartRead(Request& request, uint64_t offset, std::span<std::byte> into, bool pages);
  void StartWrite(Request& request, uint64_t offset, std::span<const std::byte> from, bool pages);
  // All pieces one behind the other.
  void StartVectorRead(Request& request, const std::vector<Piece>& pieces, std::span<std::byte> into);

  // The outcome of a read that should have filled `wanted` bytes, or of a write.
  Status CheckRead(const Reply& reply, uint64_t wanted) const;
  Status CheckWrite(const Reply& reply) const { return Check(reply, "write", path_); }

 private:
  Connection& connection_;
  const std::string path_;
  // Shared with the requests in flight: XrdCl may still be in a call of it when the answer is there.
  std::shared_ptr<XrdCl::File> file_;
  bool opened_ = false;
};

}  // namespace xec::load
