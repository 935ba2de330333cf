// SPDX-License-Identifier: LGPL-3.0-or-later
#include "commit/clean/cleaner.hh"

#include <algorithm>

#include "base/contains.hh"
#include "base/failpoint.hh"
#include "base/mutant.hh"
#include "commit/clean/clean_name.hh"
#include "commit/clean/idle_names.hh"
#include "commit/clean/nameless.hh"
#include "commit/clean/short_ways.hh"
#include "commit/engine/folder.hh"
#include "commit/engine/server_gather.hh"
#include "runtime/gather.hh"

namespace xec {
namespace {

// One pass cleans so many names at the same time. Each waits for one server after the other, dozens of times
// if it was renamed.
constexpr size_t kCleanNamesAtOnceMax = 4;

struct TreePass {
  Engine& engine;
  OnThin on_thin;
  NamesAtRest::Pass rests;
  CleanOptions options = {};
  uint64_t visited = 0;
  bool stopped = false;
  CleanOutcome total = {};
  std::optional<Error> problem = {};

  // The name of the directory with which to begin, if an earlier pass ended within it.
  std::optional<ObjectPath> FirstIn(const ObjectPath& directory) const {
    const std::string above = directory.IsRoot() ? "/" : directory.text() + "/";
    if (!options.from.starts_with(above)) return std::nullopt;
    const size_t end = options.from.find('/', above.size());
    const Result<ObjectPath> first = directory.Child(options.from.substr(above.size(), end - above.size()));
    return first ? std::optional(*first) : std::nullopt;
  }

  // The outcome is that of one name.
  void Add(const Result<CleanOutcome>& outcome) {
    if (!outcome) {
      problem = outcome.error();
      ++total.left;
      return;
    }
    total.Add(*outcome);
    if (!on_thin) return;
    for (const ThinObject& object : outcome->thin) on_thin(object);
  }
};

using Cleaning = Gather<Result<CleanOutcome>>;

// Where there was nothing to do, something may wait that is not counted: attributes of a rename that never
// committed, an empty object directory that could not be removed.
Task<Result<CleanOutcome>> CleanAndLearn(TreePass& pass, ObjectPath path, uint64_t shown) {
  const TimePoint began = pass.engine.executor().Now();
  Result<CleanOutcome> outcome = co_await CleanName(pass.engine, std::move(path));
  if (outcome && outcome->removed == 0 && outcome->left == 0 && outcome->thin.empty()) {
    const auto horizon =
        std::chrono::duration_cast<std::chrono::milliseconds>(pass.engine.options().tombstone_horizon);
    pass.rests.Learn(shown, began, {ToClean::kNothing, pass.engine.executor().WallNow() + horizon.count()});
  }
  co_return std::move(outcome);
}

Task<Result<CleanOutcome>> CleanShortly(TreePass& pass, ObjectPath path, uint64_t shown,
                                        Task<std::optional<CleanOutcome>> short_way) {
  std::optional<CleanOutcome> done = co_await short_way;
  if (done) co_return std::move(*done);
  co_return co_await CleanAndLearn(pass, std::move(path), shown);
}

// Takes what is done, and waits until no more than so many are being cleaned.
Task<void> AwaitCleaned(Cleaning& cleaning, size_t most, TreePass& pass) {
  while (cleaning.pending() > most || cleaning.ready()) {
    auto event = co_await cleaning.Next();
    pass.Add(*event.value);
  }
}

Task<void> CleanBelow(TreePass& pass, ObjectPath directory);

// False: the pass is to end.
Task<bool> GoOn(TreePass& pass, const ObjectPath& name) {
  if (!pass.options.turn || pass.stopped) co_return !pass.stopped;
  WalkPoint point{name.text(), pass.visited++};
  const bool go_on = co_await pass.options.turn(std::move(point));
  pass.stopped = !go_on;
  co_return go_on;
}

// The names of a folder, each with what is below it.
Task<void> CleanNames(TreePass& pass, FolderUnion& found, std::optional<ObjectPath> first) {
  IdleNames idle(pass.engine, found, pass.rests, first);
  Cleaning cleaning(pass.engine.scope(), pass.engine.executor());
  while (const std::optional<ObjectPath> name = idle.Next()) {
    const bool go_on = co_await GoOn(pass, *name);
    if (!go_on) break;
    // Names below come first, since a directory's tombstone can only go when its folder is empty. Nothing
    // else is cleaned beside them, so that one bound holds for all folders.
    const bool has_folder = TakeFolderOf(*name, found);
    if (has_folder) {
      co_await AwaitCleaned(cleaning, 0, pass);
      co_await CleanBelow(pass, *name);
      if (pass.stopped) break;
    }
    const ToClean to_clean = co_await idle.Look();
    if (to_clean == ToClean::kLater || to_clean == ToClean::kNothing) {
      ++pass.total.names;
      if (to_clean == ToClean::kLater) ++pass.total.left;
      co_await AwaitCleaned(cleaning, kCleanNamesAtOnceMax, pass);
      continue;
    }
    co_await AwaitCleaned(cleaning, kCleanNamesAtOnceMax - 1, pass);
    if (to_clean == ToClean::kForget && !has_folder) {
      cleaning.Start(
          0, CleanShortly(pass, *name, idle.GivenAs(), ForgetName(pass.engine, *name, found.asked_ms)));
    } else if (to_clean == ToClean::kPurge) {
      cleaning.Start(
          0, CleanShortly(pass, *name, idle.GivenAs(), PurgeName(pass.engine, *name, idle.ToPurge())));
    } else {
      cleaning.Start(0, CleanAndLearn(pass, *name, idle.GivenAs()));
    }
  }
  co_await AwaitCleaned(cleaning, 0, pass);
}

// The folder belongs to a directory that is forgotten: a process that fenced a rename or an upload below it
// made the folder anew, for its marks. When it is empty it has no marks.
Task<void> CleanNamelessFolder(TreePass& pass, ObjectPath directory) {
  co_await CleanBelow(pass, directory);
  co_await RemoveEmptyFolder(pass.engine, std::move(directory));
}

// Is there an object directory of the shortened name that this folder has? Its turn comes first.
bool IsNameless(const FolderUnion& found, const ObjectPath& directory, const std::string& folder) {
  const std::string above = directory.IsRoot() ? "" : directory.Folder();
  const std::string stem = folder.substr(0, folder.size() - kLongFolderSuffix.size());
  return found.nameless.contains(above + "/" + stem + std::string(kLongObjectSuffix));
}

Task<void> CleanBelow(TreePass& pass, ObjectPath directory) {
  Engine& engine = pass.engine;
  FolderUnion found = co_await ListFolder(engine, directory, kCleanerPatience);
  // Servers that were not heard may show names that have not been visited.
  pass.total.left += engine.server_count() - found.heard.size();
  if (engine.server_count() - found.heard.size() > engine.SilentServersMax())
    pass.problem = Fail(Code::kNoQuorum, "{} cannot be cleaned now: {} of {} data servers do not list it",
                        directory.text(), engine.server_count() - found.heard.size(), engine.server_count());
  std::optional<ObjectPath> first = pass.FirstIn(directory);
  co_await CleanNames(pass, found, std::move(first));
  if (pass.stopped) co_return;
  for (const std::string& object_directory : found.nameless) {
    const CleanOutcome cleaned = co_await CleanNameless(engine, object_directory);
    pass.total.Add(cleaned);
  }
  for (const std::string& folder : found.folders) {
    const bool shortened = folder.ends_with(kLongFolderSuffix);
    // A server that is silent may tell its name.
    if (shortened && (found.heard.size() < engine.server_count() || IsNameless(found, directory, folder)))
      continue;
    std::optional<ObjectPath> name = DirectoryOf(directory, folder);
    if (name && !pass.stopped) co_await CleanNamelessFolder(pass, std::move(*name));
  }
}

}  // namespace

Task<Result<CleanOutcome>> CleanTree(Engine& engine, ObjectPath directory, OnThin on_thin, NamesAtRest* rests,
                                     CleanOptions options) {
  if (!MayClean(engine.descriptor())) {
    co_return Fail(
        Code::kUnavailable,
        "the data servers of the store are being changed; nothing is cleaned until that is complete");
  }
  NamesAtRest nothing;
  TreePass pass{.engine = engine,
                .on_thin = std::move(on_thin),
                .rests = {rests != nullptr ? *rests : nothing, engine.executor()},
                .options = std::move(options)};
  co_await CleanBelow(pass, std::move(directory));
  if (pass.stopped) {
    pass.rests.GiveUp();
    co_return Fail(Code::kCancelled, "the cleaning was cancelled");
  }
  if (pass.problem) co_return *pass.problem;
  co_return pass.total;
}

}  // namespace xec
