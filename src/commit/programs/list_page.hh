// SPDX-License-Identifier: LGPL-3.0-or-later
// Listings of a directory that come in pages. What a look at the folders shows is kept for the page that
// follows, since each server can only tell its whole folder, and in no order.
#pragma once

#include <list>
#include <memory>

#include "base/mutex.hh"
#include "commit/engine/folder.hh"
#include "commit/engine/names.hh"

namespace xec {

// One look at the folders of a directory. Does not change once it is made.
struct FolderLook {
  FolderLook(FolderUnion all, TimePoint when);
  FolderLook(const FolderLook&) = delete;
  FolderLook& operator=(const FolderLook&) = delete;

  FolderUnion found;
  std::vector<const FolderUnion::Name*> order;  // all names, by the bytes of their last components
  TimePoint at;
};
using FolderLookPtr = std::shared_ptr<FolderLook>;

// Thread-safe.
class ListCursors {
 public:
  static constexpr size_t kCursorsMax = 64;
  // Of all looks that are kept together, some 500 bytes each; the latest is kept however many it has.
  static constexpr size_t kNamesMax = 200'000;
  static constexpr Duration kKept = std::chrono::minutes(1);     // after the page before
  static constexpr Duration kLookKept = std::chrono::minutes(10);  // after the look

  // The look that showed the page which ended with this name; null: there is none any more.
  FolderLookPtr Find(const ObjectPath& directory, const std::string& after, TimePoint now);
  void Keep(ObjectPath directory, std::string after, FolderLookPtr look, TimePoint now);

 private:
  struct Cursor {
    ObjectPath directory;
    std::string after;
    FolderLookPtr look;
    TimePoint used;
  };
  bool Fits() const XEC_REQUIRES(mutex_);

  Mutex mutex_;
  std::list<Cursor> cursors_ XEC_GUARDED_BY(mutex_);  // the oldest first
};

// As ListDirectory, a page of it.
Task<Result<NamesPage>> ListDirectoryPage(Engine& engine, ObjectPath path, ListOptions options,
                                          const NamesAtRest* rests, ListCursors& cursors);

}  // namespace xec
