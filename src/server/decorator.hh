// SPDX-License-Identifier: LGPL-3.0-or-later
// DecoratedServer<Core>: a DataServer around another one that sends every request, of the server and of the
// files opened through it, by one function of its Core. The core is shared by the server, its files and
// their requests in flight, which may outlive the server. It has
//
//   template <typename T> void Around(const Request& request, Start<T> start, Done<T> done);
//
// and calls start(done) to execute the request: now, later, never, and with a `done` of its own if it
// likes. A core that changes what is read adds
//
//   void AfterRead(const Request& request, const Slice& into, Result<uint64_t>& result);
//
// The constructor and the destructor of a decorator stand in its .cc file: whoever sees them there compiles
// every request.
//
// One that is to see each listing of a ListMany by itself has a member kSeesEachListing.
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
  std::string path;  // of renames: the source; of space queries: "/"
  OpContext context;
  uint64_t bytes = 0;  // of reads: how many are wanted
};

// Executes a request once; owns everything it needs.
template <typename T>
using Start = UniqueFunction<void(Done<T>)>;

template <typename Core>
class DecoratedFile final : public ArchiveFile, public std::enable_shared_from_this<DecoratedFile<Core>> {
 public:
  DecoratedFile(std::shared_ptr<Core> core, std::shared_ptr<ArchiveFile> inner, std::string path)
      : core_(std::move(core)), inner_(std::move(inner)), path_(std::move(path)) {}

  uint64_t size() const override { return inner_->size(); }

  void Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) override {
    Request request{Operation::kRead, path_, context, 0};
    for (const ByteRange& range : ranges) request.bytes += range.length;
    if constexpr (requires(Core& c, Result<uint64_t>& r) { c.AfterRead(request, into, r); }) {
      done = [core = core_, request, into, done = std::move(done)](Result<uint64_t> result) mutable {
        core->AfterRead(request, into, result);
        done(std::move(result));
      };
    }
    core_->template Around<uint64_t>(
        request,
        [inner = inner_, context, ranges = std::move(ranges), into](Done<uint64_t> d) mutable {
          inner->Read(context, std::move(ranges), into, std::move(d));
        },
        std::move(done));
  }

  void Write(OpContext context, uint64_t offset, Slice from, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kWrite, path_, context},
        [inner = inner_, context, offset, from = std::move(from)](Done<void> d) mutable {
          inner->Write(context, offset, std::move(from), std::move(d));
        },
        std::move(done));
  }

  void Sync(OpContext context, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kSync, path_, context},
        [inner = inner_, context](Done<void> d) { inner->Sync(context, std::move(d)); }, std::move(done));
  }

  void Close(OpContext context, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kClose, path_, context},
        [inner = inner_, context](Done<void> d) { inner->Close(context, std::move(d)); }, std::move(done));
  }

 private:
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<ArchiveFile> inner_;
  const std::string path_;
};

template <typename Core>
class DecoratedServer : public DataServer {
 public:
  const std::string& name() const override { return inner_->name(); }

  void Open(OpContext context, std::string path, OpenMode mode,
            Done<std::shared_ptr<ArchiveFile>> done) override {
    const Operation operation = mode == OpenMode::kCreate ? Operation::kCreate : Operation::kOpen;
    using FilePtr = std::shared_ptr<ArchiveFile>;
    Done<FilePtr> wrap = [core = core_, path, done = std::move(done)](Result<FilePtr> opened) mutable {
      if (opened) opened = FilePtr(std::make_shared<DecoratedFile<Core>>(core, std::move(*opened), path));
      done(std::move(opened));
    };
    core_->template Around<FilePtr>(
        {operation, path, context},
        [inner = inner_, context, path, mode](Done<FilePtr> d) mutable {
          inner->Open(context, std::move(path), mode, std::move(d));
        },
        std::move(wrap));
  }

  void List(OpContext context, std::string path, Done<std::vector<Entry>> done) override {
    core_->template Around<std::vector<Entry>>(
        {Operation::kList, path, context},
        [inner = inner_, context, path](Done<std::vector<Entry>> d) mutable {
          inner->List(context, std::move(path), std::move(d));
        },
        std::move(done));
  }

  void ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done) override {
    if constexpr (requires { Core::kSeesEachListing; })
      return DataServer::ListMany(context, std::move(paths), std::move(done));
    const Request request{Operation::kListMany, paths.empty() ? "" : paths.front(), context};
    core_->template Around<std::vector<Listed>>(
        request,
        [inner = inner_, context, paths = std::move(paths)](Done<std::vector<Listed>> d) mutable {
          inner->ListMany(context, std::move(paths), std::move(d));
        },
        std::move(done));
  }

  void Rename(OpContext context, std::string from, std::string to, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kRename, from, context},
        [inner = inner_, context, from, to = std::move(to)](Done<void> d) mutable {
          inner->Rename(context, std::move(from), std::move(to), std::move(d));
        },
        std::move(done));
  }

  void Remove(OpContext context, std::string path, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kRemove, path, context},
        [inner = inner_, context, path](Done<void> d) mutable {
          inner->Remove(context, std::move(path), std::move(d));
        },
        std::move(done));
  }

  void MakeDirectory(OpContext context, std::string path, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kMakeDirectory, path, context},
        [inner = inner_, context, path](Done<void> d) mutable {
          inner->MakeDirectory(context, std::move(path), std::move(d));
        },
        std::move(done));
  }

  void RemoveDirectory(OpContext context, std::string path, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kRemoveDirectory, path, context},
        [inner = inner_, context, path](Done<void> d) mutable {
          inner->RemoveDirectory(context, std::move(path), std::move(d));
        },
        std::move(done));
  }

  void SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) override {
    core_->template Around<void>(
        {Operation::kSetAttributes, path, context},
        [inner = inner_, context, path, attributes = std::move(attributes)](Done<void> d) mutable {
          inner->SetAttributes(context, std::move(path), std::move(attributes), std::move(d));
        },
        std::move(done));
  }

  void GetAttributes(OpContext context, std::string path, std::string prefix,
                     Done<Attributes> done) override {
    core_->template Around<Attributes>(
        {Operation::kGetAttributes, path, context},
        [inner = inner_, context, path, prefix = std::move(prefix)](Done<Attributes> d) mutable {
          inner->GetAttributes(context, std::move(path), std::move(prefix), std::move(d));
        },
        std::move(done));
  }

  void GetSpace(OpContext context, Done<Space> done) override {
    core_->template Around<Space>(
        {Operation::kGetSpace, "/", context},
        [inner = inner_, context](Done<Space> d) { inner->GetSpace(context, std::move(d)); },
        std::move(done));
  }

 protected:
  DecoratedServer(DataServerPtr inner, std::shared_ptr<Core> core)
      : inner_(std::move(inner)), core_(std::move(core)) {}

  const DataServerPtr inner_;
  const std::shared_ptr<Core> core_;
};

}  // namespace xec
