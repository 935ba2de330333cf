// SPDX-License-Identifier: LGPL-3.0-or-later
// An upload in pieces, for tests that break servers in its middle.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "object/test/test_store.hh"
#include "runtime/sync_wait.hh"

namespace xec {

constexpr size_t kStripe = 4 * 8 * kKiB;

// Real time: a good server must not look late, and sanitizers make all of them slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::chrono::milliseconds kFailoverDelay(240);
#else
constexpr std::chrono::milliseconds kFailoverDelay(30);
#endif

inline TestStore::Options Impatient(size_t servers = 0) {
  TestStore::Options options{.geometry = kSmall, .servers = servers};
  options.engine.failover_delay = kFailoverDelay;
  options.engine.metadata_timeout = std::chrono::milliseconds(400);
  return options;
}

// Writes `size` bytes and breaks servers that hold archives of the upload when half of them are there.
class Upload {
 public:
  Upload(TestStore& store, size_t size, WriteOptions options = {}) : store_(store), bytes_(TestBytes(size)) {
    Result<std::unique_ptr<ObjectWriter>> writer = store.Start("/o", std::move(options));
    EXPECT_TRUE(writer) << writer.error().ToString();
    writer_ = std::move(*writer);
  }

  void Append(size_t from, size_t to) {
    for (size_t at = from; at < to; at += 10'000) {
      const size_t piece = std::min<size_t>(10'000, to - at);
      status_ = SyncWait(writer_->Append(AsBytes(std::string_view(bytes_).substr(at, piece))));
      if (!status_) return;
    }
  }
  void FirstHalf() { Append(0, bytes_.size() / 2); }
  void SecondHalf() { Append(bytes_.size() / 2, bytes_.size()); }
  Result<Committed> Commit() {
    Result<Committed> committed = Fail(Code::kInternal, "not tried");
    if (status_) {
      committed = SyncWait(writer_->Commit());
    } else {
      committed = status_.error();
    }
    writer_.reset();
    return committed;
  }
  void Abandon() { SyncWait(writer_->Abandon()); }
  const std::string& bytes() const { return bytes_; }
  // Servers with an archive of the upload, in no order that matters.
  std::vector<size_t> Servers() const {
    std::vector<size_t> servers;
    for (const auto& [server, path] : store_.Archives("/o")) servers.push_back(server);
    return servers;
  }

 private:
  TestStore& store_;
  const std::string bytes_;
  std::unique_ptr<ObjectWriter> writer_;
  Status status_;
};

// Every chunk is good and on none of `bad`.
inline void ExpectWhole(TestStore& store, const std::vector<size_t>& bad, const std::string& bytes) {
  Result<std::shared_ptr<ObjectReader>> reader = store.OpenReader("/o");
  ASSERT_TRUE(reader) << reader.error().ToString();
  size_t chunks = 0;
  const Status verified = SyncWait((*reader)->Verify([&](const ChunkReport& chunk) {
    ++chunks;
    EXPECT_EQ(chunk.health, ChunkHealth::kGood) << chunk.problem;
    for (const size_t server : bad) EXPECT_NE(chunk.server, server);
  }));
  EXPECT_TRUE(verified);
  EXPECT_GT(chunks, 0u);
  const Result<std::string> read = store.Get("/o");
  ASSERT_TRUE(read) << read.error().ToString();
  EXPECT_TRUE(*read == bytes);
}

}  // namespace xec
