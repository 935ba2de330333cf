// SPDX-License-Identifier: LGPL-3.0-or-later
// LateServer: stands for a member whose directory could not be found when the store was opened. It answers
// kUnavailable until Bind gives it the server, and passes everything on from then on.
#pragma once

#include <mutex>
#include <string>

#include "server/data_server.hh"

namespace xec {

// Thread-safe.
class LateServer final : public DataServer {
 public:
  // `why`: what may be the reason, for the answers given before Bind. `executor` runs these, and outlives
  // them.
  LateServer(std::string member_id, std::string why, Executor& executor);

  // Call at most once.
  void Bind(DataServerPtr server);
  bool bound() const;

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
  // The server, or null after `done` was answered.
  template <typename T>
  DataServerPtr ServerOr(Done<T>& done);

  const std::string name_, why_;
  Executor& executor_;
  mutable std::mutex mutex_;
  DataServerPtr server_;  // guarded by mutex_; set once
};

}  // namespace xec
