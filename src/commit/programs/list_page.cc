// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/programs/list_page.hh"

#include <algorithm>
#include <set>

namespace xec {

FolderLook::FolderLook(FolderUnion all, TimePoint when) : found(std::move(all)), at(when) {
  order.reserve(found.names.size());
  for (const FolderUnion::Name& name : found.names) order.push_back(&name);
}

FolderLookPtr ListCursors::Find(const ObjectPath& directory, const std::string& after, TimePoint now) {
  if (after.empty()) return nullptr;
  const MutexLock lock(mutex_);
  std::erase_if(cursors_, [&](const Cursor& cursor) {
    return now - cursor.used > kKept || now - cursor.look->at > kLookKept;
  });
  for (const Cursor& cursor : cursors_) {
    if (cursor.after == after && cursor.directory == directory) return cursor.look;
  }
  return nullptr;
}

bool ListCursors::Fits() const {
  std::set<FolderLookPtr> looks;
  size_t names = 0;
  for (const Cursor& cursor : cursors_) {
    if (looks.insert(cursor.look).second) names += cursor.look->order.size();
  }
  return cursors_.size() <= kCursorsMax && (names <= kNamesMax || looks.size() == 1);
}

void ListCursors::Keep(ObjectPath directory, std::string after, FolderLookPtr look, TimePoint now) {
  const MutexLock lock(mutex_);
  cursors_.push_back({std::move(directory), std::move(after), std::move(look), now});
  while (!Fits()) cursors_.pop_front();
}

}  // namespace xec
