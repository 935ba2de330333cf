// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/late_server.hh"

namespace xec {

LateServer::LateServer(std::string member_id, std::string why, Executor& executor)
    : name_(std::move(member_id)), why_(std::move(why)), executor_(executor) {}

void LateServer::Bind(DataServerPtr server) {
  std::lock_guard lock(mutex_);
  XEC_CHECK(!server_ && server);
  server_ = std::move(server);
}

bool LateServer::bound() const {
  std::lock_guard lock(mutex_);
  return server_ != nullptr;
}

const std::string& LateServer::name() const {
  std::lock_guard lock(mutex_);
  return server_ ? server_->name() : name_;
}

template <typename T>
DataServerPtr LateServer::ServerOr(Done<T>& done) {
  {
    std::lock_guard lock(mutex_);
    if (server_) return server_;
  }
  executor_.Post([name = name_, why = why_, done = std::move(done)]() mutable {
    done(Fail(Code::kUnavailable, "member {} of the store is missing ({})", name, why));
  });
  return nullptr;
}

void LateServer::Open(OpContext context, std::string path, OpenMode mode,
                      Done<std::shared_ptr<ArchiveFile>> done) {
  if (auto server = ServerOr(done)) server->Open(context, std::move(path), mode, std::move(done));
}

void LateServer::List(OpContext context, std::string path, Done<std::vector<Entry>> done) {
  if (auto server = ServerOr(done)) server->List(context, std::move(path), std::move(done));
}

void LateServer::ListMany(OpContext context, std::vector<std::string> paths, Done<std::vector<Listed>> done) {
  if (auto server = ServerOr(done)) server->ListMany(context, std::move(paths), std::move(done));
}

void LateServer::Rename(OpContext context, std::string from, std::string to, Done<void> done) {
  if (auto server = ServerOr(done)) server->Rename(context, std::move(from), std::move(to), std::move(done));
}

void LateServer::Remove(OpContext context, std::string path, Done<void> done) {
  if (auto server = ServerOr(done)) server->Remove(context, std::move(path), std::move(done));
}

void LateServer::MakeDirectory(OpContext context, std::string path, Done<void> done) {
  if (auto server = ServerOr(done)) server->MakeDirectory(context, std::move(path), std::move(done));
}

void LateServer::RemoveDirectory(OpContext context, std::string path, Done<void> done) {
  if (auto server = ServerOr(done)) server->RemoveDirectory(context, std::move(path), std::move(done));
}

void LateServer::SetAttributes(OpContext context, std::string path, Attributes attributes, Done<void> done) {
  if (auto server = ServerOr(done))
    server->SetAttributes(context, std::move(path), std::move(attributes), std::move(done));
}

void LateServer::GetAttributes(OpContext context, std::string path, std::string prefix,
                               Done<Attributes> done) {
  if (auto server = ServerOr(done))
    server->GetAttributes(context, std::move(path), std::move(prefix), std::move(done));
}

void LateServer::GetSpace(OpContext context, Done<Space> done) {
  if (auto server = ServerOr(done)) server->GetSpace(context, std::move(done));
}

}  // namespace xec
