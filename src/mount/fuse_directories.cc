// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <cstring>
#include <vector>

#include "mount/fuse_mount.hh"

namespace xec {
namespace {

// "." and "..", which the tree does not list.
constexpr uint64_t kOwnNames = 2;

}  // namespace

void FuseMount::OpenDirectory(fuse_req_t request, fuse_ino_t id, fuse_file_info* file) {
  const Result<NodePtr> node = NodeOf(id);
  if (!node) return Refuse(request, "open directory", "", node.error());
  const NodePtr kept = *node;
  auto handle = std::make_unique<DirectoryHandle>(
      kept, DirectoryPages(tree_, [this, kept] { return nodes_.PathOf(*kept); }));
  file->fh = reinterpret_cast<uint64_t>(handle.get());
  if (fuse_reply_open(request, file) == 0) (void)handle.release();
}

size_t FuseMount::AddEntry(fuse_req_t request, const NodePtr& directory, const NamedEntry& named, bool plus,
                           uint64_t place, MutableByteSpan into, std::vector<uint64_t>& looked_up) {
  const char* const name = named.name.c_str();
  auto* const bytes = reinterpret_cast<char*>(into.data());
  const auto next = static_cast<off_t>(place + 1);
  const size_t needed = plus ? fuse_add_direntry_plus(request, nullptr, 0, name, nullptr, 0)
                             : fuse_add_direntry(request, nullptr, 0, name, nullptr, 0);
  if (needed > into.size()) return 0;
  if (place < kOwnNames || !plus) {
    fuse_entry_param entry = {};
    entry.attr = StatOf(place < kOwnNames ? directory->shown_id : nodes_.ShownIdOf(*directory, named.name),
                        named.entry);
    return plus ? fuse_add_direntry_plus(request, bytes, into.size(), name, &entry, next)
                : fuse_add_direntry(request, bytes, into.size(), name, &entry.attr, next);
  }
  const NodePtr node = nodes_.LookedUp(directory, named.name, KindOf(named.entry));
  looked_up.push_back(node->id);
  const bool hold = named.all_known && !node->file.changed();
  const fuse_entry_param entry = EntryOf(*node, node->file.Seen(named.entry), hold);
  return fuse_add_direntry_plus(request, bytes, into.size(), name, &entry, next);
}

Result<size_t> FuseMount::FillDirectory(fuse_req_t request, DirectoryHandle& handle, uint64_t place,
                                        bool plus, MutableByteSpan into, std::vector<uint64_t>& looked_up) {
  const AloneTurn turn(handle.turns);
  if (place == 0) handle.pages.Rewind();
  size_t used = 0;
  for (uint64_t at = place;; ++at) {
    const NamedEntry own = {.name = at == 0 ? "." : "..", .entry = {.directory = true}};
    const NamedEntry* named = &own;
    if (at >= kOwnNames) {
      const Result<const NamedEntry*> next = handle.pages.At(at - kOwnNames);
      // What there is already is told first, and the error when the kernel asks for more.
      if (!next && used == 0) return next.error();
      if (!next || *next == nullptr) break;
      named = *next;
    }
    const size_t added = AddEntry(request, handle.node, *named, plus, at, into.subspan(used), looked_up);
    if (added == 0) break;
    used += added;
  }
  return used;
}

void FuseMount::ReadDirectory(fuse_req_t request, size_t size, off_t place, fuse_file_info* file, bool plus) {
  auto& handle = *reinterpret_cast<DirectoryHandle*>(file->fh);
  const NodePtr node = handle.node;
  std::vector<std::byte> buffer(size);
  std::vector<uint64_t> looked_up;
  // Nothing of the handle is used once it is answered: the kernel may release it at once, on another thread.
  const Result<size_t> used =
      FillDirectory(request, handle, static_cast<uint64_t>(place), plus, buffer, looked_up);
  if (!used) return Refuse(request, "list", PathForLog(*node), used.error());
  if (fuse_reply_buf(request, reinterpret_cast<const char*>(buffer.data()), *used) == 0) return;
  for (const uint64_t id : looked_up) Forget(id, 1);
}

void FuseMount::ReleaseDirectory(fuse_req_t request, fuse_file_info* file) {
  const std::unique_ptr<DirectoryHandle> handle(reinterpret_cast<DirectoryHandle*>(file->fh));
  fuse_reply_err(request, 0);
}

}  // namespace xec
