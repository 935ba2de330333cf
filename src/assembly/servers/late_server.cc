// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/servers/late_server.hh"

namespace xec {

LateServer::LateServer(std::string member_id, std::string why, Executor& executor)
    : name_(std::move(member_id)), why_(std::move(why)), executor_(executor) {}

void LateServer::Bind(DataServerPtr server) {
  MutexLock lock(mutex_);
  XEC_CHECK(!server_ && server);
  server_ = std::move(server);
}

DataServerPtr LateServer::Bound() const {
  MutexLock lock(mutex_);
  return server_;
}

const std::string& LateServer::name() const {
  const DataServerPtr server = Bound();
  return server ? server->name() : name_;
}

}  // namespace xec
