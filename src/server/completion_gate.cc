// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/completion_gate.hh"

namespace xec {

void CompletionGate::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [this] { return inside_ == 0; });
}

bool CompletionGate::Enter() {
  std::lock_guard lock(mutex_);
  if (!closed_) ++inside_;
  return !closed_;
}

void CompletionGate::Leave() {
  std::lock_guard lock(mutex_);
  if (--inside_ == 0 && closed_) left_.notify_all();
}

GatedServer::GatedServer(DataServerPtr inner, std::shared_ptr<CompletionGate> gate)
    : DecoratedServer(std::move(inner), std::make_shared<GateCore>(std::move(gate))) {}
GatedServer::~GatedServer() = default;

}  // namespace xec
