// SPDX-License-Identifier: LGPL-3.0-or-later
// ForwardingServer<Derived> and ForwardingFile<Derived>: each operation of the contract put into one form, so
// that a server in front of another one says once what becomes of all requests. A new operation of DataServer
// or ArchiveFile gets its line here, and every server in front of others passes it on.
//
// Derived has
//
//   template <typename T, typename Call> void Forward(const Request& request, Call call, Done<T> done);
//
// `call(to, done)`, to a DataServer& (of files: an ArchiveFile&), asks `to` in place of this one, and may be
// called once, now or later; it owns all it needs. If it is not called, Forward answers `done`.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/data_server.hh"
#include "server/operation.hh"

namespace xec {

struct Request {
  Operation operation;
  std::string path;  // of renames: the source; of several listings: the first; of space queries: "/"
  OpContext context;
  uint64_t bytes = 0;  // of reads: how many are wanted
};

template <typename Derived>
class ForwardingServer : public DataServer {
 public:
  void Open(OpContext context, std::string path, OpenMode mode,
            Done<std::shared_ptr<ArchiveFile>> done) override {
    const Operation operation = mode == OpenMode::kCreate ? Operation::kCreate : Operation::kOpen;
    const Request request{operation, path, context};
    Send(request, &DataServer::Open, std::move(done), std::move(path), mode);
  }
  void List(OpContext context, std::string path, Done<std::vector<Entry>> done) override {
    const Request request{Operation::kList, path, context};
    Send(request, &DataServer::List, std::move(done), std::move(path));
  }
  void ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done) override {
    const Request request{Operation::kListMany, paths.empty() ? "" : paths.front(), context};
    Send(request, &DataServer::ListMany, std::move(done), std::move(paths));
  }
  void Rename(OpContext context, std::string from, std::string to, Done<void> done) override {
    const Request request{Operation::kRename, from, context};
    Send(request, &DataServer::Rename, std::move(done), std::move(from), std::move(to));
  }
  void Remove(OpContext context, std::string path, Done<void> done) override {
    const Request request{Operation::kRemove, path, context};
    Send(request, &DataServer::Remove, std::move(done), std::move(path));
  }
  void MakeDirectory(OpContext context, std::string path, Done<void> done) override {
    const Request request{Operation::kMakeDirectory, path, context};
    Send(request, &DataServer::MakeDirectory, std::move(done), std::move(path));
  }
  void RemoveDirectory(OpContext context, std::string path, Done<void> done) override {
    const Request request{Operation::kRemoveDirectory, path, context};
    Send(request, &DataServer::RemoveDirectory, std::move(done), std::move(path));
  }
  void SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) override {
    const Request request{Operation::kSetAttributes, path, context};
    Send(request, &DataServer::SetAttributes, std::move(done), std::move(path), std::move(attributes));
  }
  void GetAttributes(OpContext context, std::string path, std::string prefix,
                     Done<Attributes> done) override {
    const Request request{Operation::kGetAttributes, path, context};
    Send(request, &DataServer::GetAttributes, std::move(done), std::move(path), std::move(prefix));
  }
  void GetSpace(OpContext context, Done<Space> done) override {
    Send({Operation::kGetSpace, "/", context}, &DataServer::GetSpace, std::move(done));
  }

 private:
  template <typename T, typename Method, typename... Arguments>
  void Send(const Request& request, Method method, Done<T> done, Arguments... arguments) {
    static_cast<Derived*>(this)->template Forward<T>(
        request,
        [method, context = request.context, ... arguments = std::move(arguments)](DataServer& to,
                                                                                  Done<T> d) mutable {
          (to.*method)(context, std::move(arguments)..., std::move(d));
        },
        std::move(done));
  }
};

// `size` is left to Derived: it is no request.
template <typename Derived>
class ForwardingFile : public ArchiveFile {
 public:
  // `path` is for the requests that Derived is told of.
  explicit ForwardingFile(std::string path) : path_(std::move(path)) {}

  void Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) override {
    const Request request = ReadRequest(context, ranges);
    Send(request, &ArchiveFile::Read, std::move(done), std::move(ranges), std::move(into));
  }
  void Write(OpContext context, uint64_t offset, Slice from, Done<void> done) override {
    Send({Operation::kWrite, path_, context}, &ArchiveFile::Write, std::move(done), offset, std::move(from));
  }
  void Sync(OpContext context, Done<void> done) override {
    Send({Operation::kSync, path_, context}, &ArchiveFile::Sync, std::move(done));
  }
  void Close(OpContext context, Done<void> done) override {
    Send({Operation::kClose, path_, context}, &ArchiveFile::Close, std::move(done));
  }

 protected:
  Request ReadRequest(OpContext context, const std::vector<ByteRange>& ranges) const {
    Request request{Operation::kRead, path_, context};
    for (const ByteRange& range : ranges) request.bytes += range.length;
    return request;
  }

 private:
  template <typename T, typename Method, typename... Arguments>
  void Send(const Request& request, Method method, Done<T> done, Arguments... arguments) {
    static_cast<Derived*>(this)->template Forward<T>(
        request,
        [method, context = request.context, ... arguments = std::move(arguments)](ArchiveFile& to,
                                                                                  Done<T> d) mutable {
          (to.*method)(context, std::move(arguments)..., std::move(d));
        },
        std::move(done));
  }

  const std::string path_;
};

}  // namespace xec
