// SPDX-License-Identifier: LGPL-3.0-or-later
// CountingServer: counts the requests that go through it, so that tests can hold operations to a budget of
// requests. Each call of DataServer and of its files is one request. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "server/decorators/decorator.hh"

namespace xec {

// May be shared by the servers of a whole store, to sum them.
class RequestCounts {
 public:
  static constexpr bool kSeesEachListing = true;

  void Add(Operation operation) {
    counts_[static_cast<size_t>(operation)].fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t Of(Operation operation) const { return counts_[static_cast<size_t>(operation)].load(); }
  uint64_t Total() const;
  void Reset();
  // Only the operations that occurred, by OperationName.
  std::map<std::string, uint64_t> ByName() const;

  template <typename T>
  void Around(const Request& request, Start<T> start, Done<T> done) {
    Add(request.operation);
    start(std::move(done));
  }

 private:
  std::array<std::atomic<uint64_t>, kOperationCount> counts_ = {};
};

class CountingServer final : public DecoratedServer<RequestCounts> {
 public:
  explicit CountingServer(DataServerPtr inner,
                          std::shared_ptr<RequestCounts> counts = std::make_shared<RequestCounts>());
  ~CountingServer() override;

  RequestCounts& counts() { return *core_; }
  uint64_t Total() const { return core_->Total(); }
  void Reset() { core_->Reset(); }
};

}  // namespace xec
