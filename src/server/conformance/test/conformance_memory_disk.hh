// SPDX-License-Identifier: LGPL-3.0-or-later
// The disk of a MemoryServer in the conformance suite.
#pragma once

#include "server/conformance/conformance_disk.hh"
#include "server/kinds/memory_server.hh"

namespace xec {

class MemoryConformanceDisk final : public ConformanceDisk {
 public:
  // What it is to be without the disk: to answer nothing, or to have an empty one.
  enum Without { kDown, kReplaced };

  MemoryConformanceDisk(std::shared_ptr<MemoryServer> server, Without without)
      : server_(std::move(server)), without_(without) {}

  void TakeAway(bool) override {
    if (without_ == kDown) return server_->SetDown(true);
    taken_ = server_->Take();
    server_->Wipe();
  }
  void BringBack() override {
    if (without_ == kDown) return server_->SetDown(false);
    server_->Restore(taken_);
  }
  void CutPower() override { server_->Crash(++cuts_); }

 private:
  const std::shared_ptr<MemoryServer> server_;
  const Without without_;
  std::shared_ptr<const MemoryServer::Snapshot> taken_;
  uint64_t cuts_ = 0;
};

}  // namespace xec
