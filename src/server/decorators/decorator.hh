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
// The constructor and the destructor of a decorator stand in its .cc file, because a file that sees them
// compiles every request.
//
// One that is to see each listing of a ListMany by itself has a member kSeesEachListing.
#pragma once

#include "server/forwarding.hh"

namespace xec {

// Executes a request once; owns everything it needs.
template <typename T>
using Start = UniqueFunction<void(Done<T>)>;

template <typename Core>
class DecoratedFile final : public ForwardingFile<DecoratedFile<Core>> {
 public:
  DecoratedFile(std::shared_ptr<Core> core, std::shared_ptr<ArchiveFile> inner, std::string path)
      : ForwardingFile<DecoratedFile<Core>>(std::move(path)),
        core_(std::move(core)),
        inner_(std::move(inner)) {}

  uint64_t size() const override { return inner_->size(); }

  void Read(OpContext context, std::vector<ByteRange> ranges, Slice into, Done<uint64_t> done) override {
    if constexpr (requires(Core& c, Request& q, Result<uint64_t>& r) { c.AfterRead(q, into, r); }) {
      done = [core = core_, request = this->ReadRequest(context, ranges), into,
              done = std::move(done)](Result<uint64_t> result) mutable {
        core->AfterRead(request, into, result);
        done(std::move(result));
      };
    }
    ForwardingFile<DecoratedFile<Core>>::Read(context, std::move(ranges), std::move(into), std::move(done));
  }

  template <typename T, typename Call>
  void Forward(const Request& request, Call call, Done<T> done) {
    core_->template Around<T>(
        request, [inner = inner_, call = std::move(call)](Done<T> d) mutable { call(*inner, std::move(d)); },
        std::move(done));
  }

 private:
  const std::shared_ptr<Core> core_;
  const std::shared_ptr<ArchiveFile> inner_;
};

template <typename Core>
class DecoratedServer : public ForwardingServer<DecoratedServer<Core>> {
 public:
  const std::string& name() const override { return inner_->name(); }

  void Open(OpContext context, std::string path, OpenMode mode,
            Done<std::shared_ptr<ArchiveFile>> done) override {
    using FilePtr = std::shared_ptr<ArchiveFile>;
    done = [core = core_, path, done = std::move(done)](Result<FilePtr> opened) mutable {
      if (opened) opened = FilePtr(std::make_shared<DecoratedFile<Core>>(core, std::move(*opened), path));
      done(std::move(opened));
    };
    ForwardingServer<DecoratedServer<Core>>::Open(context, std::move(path), mode, std::move(done));
  }

  void ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done) override {
    if constexpr (requires { Core::kSeesEachListing; }) {
      DataServer::ListMany(context, std::move(paths), std::move(done));
    } else {
      ForwardingServer<DecoratedServer<Core>>::ListMany(context, std::move(paths), std::move(done));
    }
  }

  template <typename T, typename Call>
  void Forward(const Request& request, Call call, Done<T> done) {
    core_->template Around<T>(
        request, [inner = inner_, call = std::move(call)](Done<T> d) mutable { call(*inner, std::move(d)); },
        std::move(done));
  }

 protected:
  DecoratedServer(DataServerPtr inner, std::shared_ptr<Core> core)
      : inner_(std::move(inner)), core_(std::move(core)) {}

  const DataServerPtr inner_;
  const std::shared_ptr<Core> core_;
};

}  // namespace xec
