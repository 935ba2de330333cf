// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/decorators/completion_gate.hh"

namespace xec {

void CompletionGate::Close() {
  MutexLock lock(mutex_);
  closed_ = true;
  while (inside_ > 0) left_.Wait(mutex_);
}

bool CompletionGate::Enter() {
  MutexLock lock(mutex_);
  if (!closed_) ++inside_;
  return !closed_;
}

void CompletionGate::Leave() {
  MutexLock lock(mutex_);
  if (--inside_ == 0 && closed_) left_.NotifyAll();
}

GatedServer::GatedServer(DataServerPtr inner, std::shared_ptr<CompletionGate> gate)
    : DecoratedServer(std::move(inner), std::make_shared<GateCore>(std::move(gate))) {}
GatedServer::~GatedServer() = default;

}  // namespace xec
