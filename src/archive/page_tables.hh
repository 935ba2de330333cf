// SPDX-License-Identifier: LGPL-3.0-or-later
// PageTables: page checksums of chunks that were read, so that another range of a chunk needs its bytes only.
// One for all readers of a process, or reads of a few KiB anywhere in large objects would fetch the checksums
// of a whole chunk each time.
#pragma once

#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "archive/archive_reader.hh"
#include "base/mutex.hh"

namespace xec {

// Thread-safe. Forgets the tables whose last use is longest ago.
class PageTables {
 public:
  // Of all tables, with what it takes to find them. 1 KiB and a little for each chunk of the default
  // geometry.
  static constexpr uint64_t kBytesMax = 32 * 1024 * 1024;
  using Table = std::shared_ptr<const PageChecksumTable>;

  struct Key {
    std::string object;  // one version of one object
    uint32_t server = 0;  // a lane may have several archives
    MemberName member;
    auto operator<=>(const Key&) const = default;
  };

  explicit PageTables(uint64_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  // null: not here.
  Table Find(const Key& key);
  void Keep(const Key& key, Table table);
  // It does not fit what is there: damaged, or older than a repair.
  void Forget(const Key& key);
  uint64_t bytes() const;

 private:
  struct Entry {
    Table table;
    std::list<Key>::iterator place;
  };
  using Entries = std::map<Key, Entry>;
  static uint64_t BytesOf(const Key& key, const Table& table);
  void Erase(Entries::iterator entry) XEC_REQUIRES(mutex_);

  const uint64_t bytes_max_;
  mutable Mutex mutex_;
  Entries entries_ XEC_GUARDED_BY(mutex_);
  std::list<Key> order_ XEC_GUARDED_BY(mutex_);  // the one whose last use is longest ago first
  uint64_t bytes_ XEC_GUARDED_BY(mutex_) = 0;
};

}  // namespace xec
