// SPDX-License-Identifier: LGPL-3.0-or-later
// ObjectWalk: asks the same of every object that stands on the servers, several at a time, also where
// listings do not find them. Directories come in the order of the bytes of each name, so that a walk can
// begin where another one was.
#pragma once

#include <map>

#include "api/store_maintenance.hh"
#include "runtime/gather.hh"
#include "runtime/turn.hh"
#include "store/layout_store.hh"

namespace xec {

// A walk waits for servers most of the time; this keeps them busy without being in anybody's way.
constexpr size_t kWalkObjectsAtOnce = 8;

template <typename T>
class ObjectWalk {
 public:
  // Everything but `ask` is called by the walk's own coroutine, one call at a time. False: stop.
  struct Plan {
    std::string from = {};  // the point of an earlier walk to begin at; "" = at the beginning
    Turn turn = {};         // awaited before each object
    std::function<Task<Result<T>>(std::string path)> ask;
    // `in_tree`: listings come to it. Not called for what was removed meanwhile.
    std::function<bool(const std::string& path, bool in_tree, Result<T> answer)> take;
    std::function<bool(const std::string& directory, const Error& error)> unlisted;
  };

  // Both references outlive the walk.
  ObjectWalk(Engine& engine, LayoutStore& store, Plan plan)
      : store_(store), plan_(std::move(plan)), gather_(engine.scope(), engine.executor()) {}

  // Once. Error: kCancelled, when it was stopped.
  Task<Status> Run() {
    Status walked = co_await Directory("/", true);
    while (gather_.pending() > 0) co_await TakeNext();
    co_return std::move(walked);
  }

 private:
  struct UnderWay {
    std::string path;
    bool in_tree;
  };
  struct Child {
    std::string path;
    bool directory, gone;
    bool operator<(const Child& other) const {
      return std::tie(path, directory, gone) < std::tie(other.path, other.directory, other.gone);
    }
  };

  Task<void> TakeNext() {
    typename Gather<Result<T>>::Event event = co_await gather_.Next();
    const UnderWay of = std::move(under_way_.at(event.tag));
    under_way_.erase(event.tag);
    Result<T>& answer = *event.value;
    if (!answer && answer.code() == Code::kNotFound) co_return;
    stopped_ = !plan_.take(of.path, of.in_tree, std::move(answer)) || stopped_;
  }

  Status Stopped() const {
    if (stopped_) return Fail(Code::kCancelled, "interrupted");
    return OkStatus();
  }

  // Sorted; all of them in the directory itself.
  static std::vector<Child> ChildrenOf(const std::string& directory, const StoredNames& names) {
    std::vector<Child> children;
    for (const ListedName& name : names.names)
      children.push_back({(directory == "/" ? "" : directory) + "/" + name.name, name.directory, false});
    for (const std::string& gone : names.gone) children.push_back({gone, true, true});
    std::sort(children.begin(), children.end());
    return children;
  }

  // The child of the directory in which the walk is to begin; "" = with the first.
  std::string FirstIn(const std::string& directory) const {
    const std::string above = directory == "/" ? directory : directory + "/";
    if (!plan_.from.starts_with(above)) return "";
    return plan_.from.substr(0, plan_.from.find('/', above.size()));
  }

  // What is still under way is not done.
  WalkPoint PointAt(const std::string& next) const {
    return {under_way_.empty() ? next : under_way_.begin()->second.path, next_};
  }

  Task<Status> Object(std::string path, bool in_tree) {
    if (plan_.turn) {
      WalkPoint point = PointAt(path);
      const bool go_on = co_await plan_.turn(std::move(point));
      stopped_ = stopped_ || !go_on;
    }
    while (!stopped_ && gather_.pending() >= kWalkObjectsAtOnce) co_await TakeNext();
    if (stopped_) co_return Stopped();
    gather_.Start(next_, plan_.ask(path));
    under_way_.emplace(next_++, UnderWay{std::move(path), in_tree});
    co_return OkStatus();
  }

  Task<Status> Directory(std::string directory, bool in_tree) {
    Result<StoredNames> names = co_await store_.ListStored(directory);
    if (!names && names.code() == Code::kNotFound) co_return OkStatus();
    if (!names && names.code() == Code::kCancelled) co_return names.error();
    if (!names) {
      stopped_ = !plan_.unlisted(directory, names.error()) || stopped_;
      co_return Stopped();
    }
    const std::string first = FirstIn(directory);
    for (const Child& child : ChildrenOf(directory, *names)) {
      if (child.path < first) continue;
      Task<Status> visit =
          child.directory ? Directory(child.path, in_tree && !child.gone) : Object(child.path, in_tree);
      const Status visited = co_await visit;
      if (!visited) co_return visited.error();
    }
    co_return OkStatus();
  }

  LayoutStore& store_;
  const Plan plan_;
  Gather<Result<T>> gather_;
  std::map<size_t, UnderWay> under_way_;  // in the order of their start
  size_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace xec
