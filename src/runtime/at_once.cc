// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/at_once.hh"

#include <algorithm>
#include <atomic>
#include <vector>

#include "runtime/engine_thread.hh"

namespace xec {
namespace {

struct Works {
  const std::function<Task<Status>(size_t)>& work;
  std::vector<Status> answers;
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
};

Task<void> TakeOneAfterAnother(Works& works) {
  while (!works.failed) {
    const size_t number = works.next++;
    if (number >= works.answers.size()) break;
    Status answer = co_await works.work(number);
    if (!answer) works.failed = true;
    works.answers[number] = std::move(answer);
  }
}

}  // namespace

Status RunAtOnce(size_t count, size_t at_once, const std::function<Task<Status>(size_t)>& work) {
  CheckMayBlock();
  Works works{.work = work, .answers = std::vector<Status>(count)};
  TaskScope scope;
  for (size_t i = 0; i < std::min(count, at_once); ++i) scope.Spawn(TakeOneAfterAnother(works));
  scope.Drain();
  for (Status& answer : works.answers) {
    if (!answer) return std::move(answer);
  }
  return OkStatus();
}

}  // namespace xec
