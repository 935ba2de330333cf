// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/jobs/count_walk.hh"

namespace xec {
namespace {

Task<Status> TakeTurn(Counting& counting, const Turn& turn, std::string path) {
  WalkPoint point{std::move(path), counting.done};
  const bool goes_on = co_await turn(std::move(point));
  if (!goes_on) co_return Fail(Code::kCancelled, "interrupted");
  co_return OkStatus();
}

bool IsGone(Code code) { return code == Code::kNotFound || code == Code::kNotDirectory; }

// An error: the walk ends.
Task<Result<NamesPage>> PageOf(const ListPages& list, const std::string& directory, ListOptions options,
                               Counting& counting, const Turn& turn) {
  for (int tries = 1;; ++tries) {
    Result<NamesPage> page = co_await list(directory, options);
    if (page) co_return std::move(page);
    if (IsGone(page.code())) co_return NamesPage();
    if (tries == kCountTriesMax) {
      if (counting.left_out++ == 0) counting.why = page.error();
      if (counting.left_out > kCountLeftOutMax) co_return page.error();
      co_return NamesPage();
    }
    counting.waits = true;
    const Status goes_on = co_await TakeTurn(counting, turn, directory);
    if (!goes_on) co_return goes_on.error();
  }
}

Task<Status> CountDirectory(const ListPages& list, std::string directory, Counting& counting,
                            const Turn& turn) {
  ListOptions options{.limit = ListOptions::kNamesMax};
  for (bool more = true; more;) {
    Result<NamesPage> page = co_await PageOf(list, directory, options, counting, turn);
    if (!page) co_return page.error();
    for (const ListedName& name : page->names) {
      std::string path = (directory == "/" ? "" : directory) + "/" + name.name;
      const Status goes_on = co_await TakeTurn(counting, turn, path);
      if (!goes_on) co_return goes_on.error();
      ++counting.done;
      if (!name.directory) {
        const SpaceGroup* const group = GroupOf(counting.groups, path);
        counting.found[group->prefix] += {static_cast<int64_t>(name.size), 1};
        continue;
      }
      const Status counted = co_await CountDirectory(list, std::move(path), counting, turn);
      if (!counted) co_return counted;
    }
    more = page->more && !page->names.empty();
    if (more) options.after = page->names.back().name;
  }
  co_return OkStatus();
}

}  // namespace

Task<Status> CountTree(const ListPages& list, Counting& counting, Turn turn) {
  co_return co_await CountDirectory(list, "/", counting, turn);
}

}  // namespace xec
