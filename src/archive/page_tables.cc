// SPDX-License-Identifier: LGPL-3.0-or-later
#include "archive/page_tables.hh"

namespace xec {
namespace {

// Of the nodes of map, list and shared_ptr.
constexpr uint64_t kOverheadBytes = 256;

}  // namespace

uint64_t PageTables::BytesOf(const Key& key, const Table& table) {
  return kOverheadBytes + 2 * key.object.size() + table->crc32c.size() * sizeof(uint32_t);
}

void PageTables::Erase(Entries::iterator entry) {
  bytes_ -= BytesOf(entry->first, entry->second.table);
  order_.erase(entry->second.place);
  entries_.erase(entry);
}

PageTables::Table PageTables::Find(const Key& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  order_.splice(order_.end(), order_, found->second.place);
  return found->second.table;
}

void PageTables::Keep(const Key& key, Table table) {
  MutexLock lock(mutex_);
  const auto [entry, is_new] = entries_.try_emplace(key);
  if (!is_new) return;
  bytes_ += BytesOf(key, table);
  entry->second = Entry{std::move(table), order_.insert(order_.end(), key)};
  while (bytes_ > bytes_max_) Erase(entries_.find(order_.front()));
}

void PageTables::Forget(const Key& key) {
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found != entries_.end()) Erase(found);
}

uint64_t PageTables::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace xec
