// SPDX-License-Identifier: LGPL-3.0-or-later
#include "api/remove_many.hh"

#include "runtime/at_once.hh"
#include "runtime/status_of.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// Objects of a tree that are known before they are removed.
constexpr size_t kBatchNames = 10'000;

// Notes that it is a directory instead of removing it.
Task<Status> RemoveObject(Store& store, std::string path, CallOptions call, char& directory) {
  Status removed = co_await store.Remove(std::move(path), std::move(call));
  if (!removed && removed.code() == Code::kIsDirectory) {
    directory = 1;
    co_return OkStatus();
  }
  co_return std::move(removed);
}

// Where somebody else was faster what was wanted is true.
Task<Status> UnlessGone(Task<Status> removal) {
  Status removed = co_await removal;
  if (!removed && removed.code() == Code::kNotFound) co_return OkStatus();
  co_return std::move(removed);
}

class Tree {
 public:
  Tree(Store& store, const CallOptions& call) : store_(store), call_(call) {}

  Status Remove(const std::string& top) {
    for (std::vector<std::string> level = {top}; !level.empty();) {
      std::vector<std::string> below;
      for (const std::string& directory : level) XEC_TRY(RemoveObjectsIn(directory, directory == top, below));
      if (level.front() != "/") levels_.push_back(std::move(level));
      level = std::move(below);
    }
    XEC_TRY(RemoveBatch());
    for (; !levels_.empty(); levels_.pop_back()) {
      const std::vector<std::string>& level = levels_.back();
      XEC_TRY(RunAtOnce(level.size(), kRemovalsAtOnce,
                        [&](size_t i) { return UnlessGone(store_.RemoveDirectory(level[i], call_)); }));
    }
    return OkStatus();
  }

 private:
  Status RemoveObjectsIn(const std::string& directory, bool is_top, std::vector<std::string>& below) {
    const Result<std::vector<ListedName>> names = SyncWait(ListAll(store_, directory, call_));
    if (!names && names.code() == Code::kNotFound && !is_top) return OkStatus();
    if (!names) return names.error();
    for (const ListedName& name : *names) {
      std::string path = directory.ends_with('/') ? directory + name.name : directory + "/" + name.name;
      (name.directory ? below : batch_).push_back(std::move(path));
    }
    return batch_.size() < kBatchNames ? OkStatus() : RemoveBatch();
  }

  Status RemoveBatch() {
    const std::vector<std::string> batch = std::exchange(batch_, {});
    return RunAtOnce(batch.size(), kRemovalsAtOnce,
                     [&](size_t i) { return UnlessGone(StatusOf(store_.Remove(batch[i], call_))); });
  }

  Store& store_;
  const CallOptions& call_;
  std::vector<std::string> batch_;                // objects
  std::vector<std::vector<std::string>>
      levels_;  // directories: each level is empty once those below are gone
};

}  // namespace

Result<std::vector<std::string>> RemoveObjects(Store& store, const std::vector<std::string>& paths,
                                               const CallOptions& call) {
  std::vector<char> is_directory(paths.size());
  XEC_TRY(RunAtOnce(paths.size(), kRemovalsAtOnce,
                    [&](size_t i) { return RemoveObject(store, paths[i], call, is_directory[i]); }));
  std::vector<std::string> directories;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (is_directory[i] != 0) directories.push_back(paths[i]);
  }
  return directories;
}

Status RemoveTree(Store& store, const std::string& directory, const CallOptions& call) {
  return Tree(store, call).Remove(directory);
}

}  // namespace xec
