// SPDX-License-Identifier: LGPL-3.0-or-later
#include "object/test/test_store.hh"

#include <algorithm>
#include <cstring>
#include <thread>

#include "base/random.hh"
#include "commit/engine/names.hh"
#include "runtime/sync_wait.hh"

namespace xec {

std::string TestBytes(size_t size, uint64_t seed) {
  Random random(seed);
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; i += 8) {
    const uint64_t word = random.Next();
    std::memcpy(bytes.data() + i, &word, std::min<size_t>(8, size - i));
  }
  return bytes;
}

EngineOptions Patient() {
  EngineOptions options;
  for (HealthRules::Bounds& bounds : options.health.patience)
    bounds = {std::chrono::seconds(10), std::chrono::seconds(10), std::chrono::seconds(10)};
  options.hedge_delay = std::chrono::seconds(1);
  return options;
}

TestStore::TestStore(Options options) : pool_("test", 4) {
  options.engine.cache_bytes = options.cache_bytes;
  StoreDescriptor descriptor;
  descriptor.store_id = std::string(32, 'a');
  descriptor.layout = options.layout;
  descriptor.sync = options.sync;
  descriptor.tolerance = options.geometry.parity_chunks;
  descriptor.geometry = options.geometry;
  const size_t count = options.servers != 0 ? options.servers : options.geometry.Total() + 2;
  std::vector<DataServerPtr> servers;
  for (size_t i = 0; i < count; ++i) {
    Member member;
    member.id = fmt::format("s{:02}", i);
    member.address = "local";
    member.host = fmt::format("h{:02}", i / options.servers_of_host);
    descriptor.members.push_back(member);
    memory_.push_back(std::make_shared<MemoryServer>(member.id, pool_));
    faults_.push_back(std::make_shared<FaultServer>(memory_.back(), pool_, i + 1));
    servers.push_back(std::make_shared<CountingServer>(faults_.back(), counts_));
  }
  engine_ = std::make_unique<Engine>(descriptor, servers, pool_, scope_, 7, options.engine);
}

TestStore::~TestStore() {
  // What is still to be asked in the background must not hang either: archives are closed there.
  for (const auto& fault : faults_) {
    fault->plan().Clear();
    fault->plan().DropHung();
  }
  scope_.Drain();
}

ObjectPath TestStore::Path(std::string_view text) {
  Result<ObjectPath> path = ObjectPath::Parse(text);
  XEC_CHECK(path.has_value());
  return *path;
}

Result<std::unique_ptr<ObjectWriter>> TestStore::Start(const std::string& path, WriteOptions options) {
  return SyncWait(ObjectWriter::Start(*engine_, Path(path), std::move(options)));
}

Result<Committed> TestStore::Put(const std::string& path, const std::string& bytes, WriteOptions options,
                                 size_t piece) {
  Result<std::unique_ptr<ObjectWriter>> writer = Start(path, std::move(options));
  if (!writer) return writer.error();
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const Status status = SyncWait((*writer)->Append(AsBytes(std::string_view(bytes).substr(at, piece))));
    if (!status) return status.error();
  }
  return SyncWait((*writer)->Commit());
}

Result<std::shared_ptr<ObjectReader>> TestStore::OpenReader(const std::string& path) {
  Result<NameInfo> info = SyncWait(LookUpLive(*engine_, Path(path)));
  if (!info) return info.error();
  return SyncWait(ObjectReader::Open(*engine_, std::move(*info)));
}

Result<std::string> TestStore::Read(ObjectReader& reader, uint64_t offset, size_t size) {
  std::string bytes(size, '?');
  const Result<uint64_t> got = SyncWait(reader.Read(offset, std::as_writable_bytes(std::span(bytes))));
  if (!got) return got.error();
  bytes.resize(*got);
  return bytes;
}

Result<std::string> TestStore::Get(const std::string& path) {
  Result<std::shared_ptr<ObjectReader>> reader = OpenReader(path);
  if (!reader) return reader.error();
  return Read(**reader, 0, (*reader)->size() + 1);
}

bool TestStore::BudgetReturned() {
  Settle();
  const TimePoint give_up = pool_.Now() + std::chrono::seconds(30);
  const auto held = [&] {
    return engine_->budget().in_use() + engine_->budget().claimed() + engine_->long_headers().in_use();
  };
  while (held() != 0 && pool_.Now() < give_up) std::this_thread::yield();
  return held() == 0;
}

std::vector<std::pair<size_t, std::string>> TestStore::Archives(const std::string& path) const {
  std::vector<std::pair<size_t, std::string>> archives;
  const std::string directory = Path(path).ObjectDirectory() + "/";
  for (size_t i = 0; i < memory_.size(); ++i) {
    for (const auto& [file, size] : memory_[i]->Files()) {
      if (file.starts_with(directory)) archives.emplace_back(i, file);
    }
  }
  return archives;
}

}  // namespace xec
