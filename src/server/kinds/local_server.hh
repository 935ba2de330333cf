// SPDX-License-Identifier: LGPL-3.0-or-later
// LocalServer: a directory as data server; a stock xrootd could serve the same directory and the other way
// round. Blocking system calls run on threads of its own (kThreads of them), completions too: they are
// engine threads, so what continues there must not block.
//
// Symbolic links below the root are followed (a stock server with data spaces has them).
#pragma once

#include <optional>
#include <string>

#include "server/data_server.hh"
#include "server/kinds/local_root.hh"

namespace xec {

struct LocalServerOptions {
  // What proves that the root is the right one; without it a replaced root directory is taken as it is.
  std::optional<LocalIdentity> identity = {};

  // True: Rename, MakeDirectory and the making of parents return only when the changed directories are on
  // stable storage, and so does SetAttributes, so that a commit survives a power cut. A
  // directory that was there already may be somebody else's of just now, and so may what is in it: all of it
  // is waited for. Removals are never waited for: they may be undone by a power cut. False: all of them are
  // as durable as the file system makes them by itself. ArchiveFile::Sync makes the file's bytes, its name
  // and the directories made for it durable in any case.
  bool sync_directories = true;
};

class LocalServer final : public DataServer {
 public:
  static constexpr int kThreads = 2;

  // `root` need not exist now: while it does not, everything answers kUnavailable. Starts threads, so only
  // after a daemon has forked. Requests in flight survive the object.
  explicit LocalServer(std::string root, LocalServerOptions options = {});
  ~LocalServer() override;

  const std::string& name() const override;
  void Open(OpContext context, std::string path, OpenMode mode,
            Done<std::shared_ptr<ArchiveFile>> done) override;
  void List(OpContext context, std::string path, Done<std::vector<Entry>> done) override;
  void ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done) override;
  void Rename(OpContext context, std::string from, std::string to, Done<void> done) override;
  void Remove(OpContext context, std::string path, Done<void> done) override;
  void MakeDirectory(OpContext context, std::string path, Done<void> done) override;
  void RemoveDirectory(OpContext context, std::string path, Done<void> done) override;
  void SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) override;
  void GetAttributes(OpContext context, std::string path, std::string prefix, Done<Attributes> done) override;
  void GetSpace(OpContext context, Done<Space> done) override;

 private:
  class Tree;
  template <typename T, typename Work>
  void Run(OpContext context, const char* verb, Done<T> done, Work work);

  const std::shared_ptr<Tree> tree_;
};

}  // namespace xec
