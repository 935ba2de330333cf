// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/merge.hh"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace xec {
namespace {

// The error that says most when nothing was found: of one that could not tell, before "not found".
template <typename T>
Error ErrorOf(const std::vector<Result<T>>& answers) {
  const Error* chosen = nullptr;
  for (const Result<T>& answer : answers) {
    if (!answer && (chosen == nullptr || chosen->code == Code::kNotFound)) chosen = &answer.error();
  }
  return chosen == nullptr ? Fail(Code::kUnavailable, "the cluster has no data server") : *chosen;
}

template <typename T>
bool Any(const std::vector<Result<T>>& answers, bool (*is)(const Result<T>&)) {
  return std::any_of(answers.begin(), answers.end(), is);
}

template <typename T>
bool IsGood(const Result<T>& answer) {
  return answer.has_value();
}

template <typename T>
bool IsSilent(const Result<T>& answer) {
  return !answer && answer.code() != Code::kNotFound;
}

bool Better(const TreeEntry& a, const TreeEntry& b) {
  return std::tuple(a.directory, a.mtime_ns) > std::tuple(b.directory, b.mtime_ns);
}

}  // namespace

Result<Told> MergeFound(const std::vector<Result<Told>>& answers) {
  const Result<Told>* best = nullptr;
  for (const Result<Told>& answer : answers) {
    if (answer && (best == nullptr || Better(answer->entry, (*best)->entry))) best = &answer;
  }
  if (best == nullptr) return ErrorOf(answers);
  return *best;
}

Result<std::vector<NamedEntry>> MergeListings(std::vector<Result<std::vector<NamedEntry>>> answers) {
  const bool silent = Any(answers, IsSilent<std::vector<NamedEntry>>);
  if (silent || !Any(answers, IsGood<std::vector<NamedEntry>>)) return ErrorOf(answers);
  std::vector<NamedEntry> all;
  for (auto& answer : answers) {
    if (answer) all.insert(all.end(), std::move_iterator(answer->begin()), std::move_iterator(answer->end()));
  }
  std::stable_sort(all.begin(), all.end(), [](const NamedEntry& a, const NamedEntry& b) {
    return a.name != b.name ? a.name < b.name : Better(a.entry, b.entry);
  });
  const auto rest = std::unique(all.begin(), all.end(),
                                [](const NamedEntry& a, const NamedEntry& b) { return a.name == b.name; });
  all.erase(rest, all.end());
  return all;
}

Status MergeDone(const std::vector<Status>& answers, bool needs_all) {
  const bool silent = Any(answers, IsSilent<void>);
  if (!Any(answers, IsGood<void>) || (needs_all && silent)) return ErrorOf(answers);
  // What a server refuses, where it is there, was not done.
  for (const Status& answer : answers) {
    const bool unreachable =
        !answer && (answer.code() == Code::kUnavailable || answer.code() == Code::kDeadlineExceeded);
    if (IsSilent(answer) && !unreachable) return answer;
  }
  return OkStatus();
}

Status MergeMade(const std::vector<Status>& answers) {
  for (const Status& answer : answers) {
    if (!answer && answer.code() == Code::kAlreadyExists) return answer;
  }
  return Any(answers, IsGood<void>) ? OkStatus() : Status(ErrorOf(answers));
}

}  // namespace xec
