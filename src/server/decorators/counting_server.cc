// SPDX-License-Identifier: LGPL-3.0-or-later
#include "server/decorators/counting_server.hh"

namespace xec {

CountingServer::CountingServer(DataServerPtr inner, std::shared_ptr<RequestCounts> counts)
    : DecoratedServer(std::move(inner), std::move(counts)) {}
CountingServer::~CountingServer() = default;

uint64_t RequestCounts::Total() const {
  uint64_t total = 0;
  for (const auto& count : counts_) total += count.load();
  return total;
}

void RequestCounts::Reset() {
  for (auto& count : counts_) count.store(0);
}

std::map<std::string, uint64_t> RequestCounts::ByName() const {
  std::map<std::string, uint64_t> names;
  for (size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (const uint64_t count = Of(operation); count > 0) names.emplace(OperationName(operation), count);
  }
  return names;
}

}  // namespace xec
