// SPDX-License-Identifier: LGPL-3.0-or-later
// Round: the answers of several servers to one question, as they come.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hh"
#include "base/result.hh"
#include "runtime/executor.hh"

namespace xec {

// Thread-safe. Held by its questions until they are answered, perhaps after nobody waits any more.
template <typename T>
class Round {
 public:
  // `enough`: the first such answer is waited for, and the others are given up; null: all are waited for.
  Round(size_t count, std::function<bool(const Result<T>&)> enough)
      : enough_(std::move(enough)), answers_(count), missing_(count) {}

  // Nobody waits for it any more.
  bool over() const {
    const MutexLock lock(mutex_);
    return over_;
  }

  // The answer of one of them, once.
  void Take(size_t number, Result<T> answer) {
    const MutexLock lock(mutex_);
    over_ = over_ || (enough_ && enough_(answer));
    answers_[number] = std::move(answer);
    --missing_;
    changed_.NotifyAll();
  }

  // Once. What is not there by the deadline, or after enough, is kDeadlineExceeded; `what(number)` is the
  // beginning of a sentence about it.
  std::vector<Result<T>> Wait(TimePoint deadline, const std::function<std::string(size_t)>& what) {
    MutexLock lock(mutex_);
    while (missing_ > 0 && !over_) {
      if (!changed_.WaitUntil(mutex_, deadline)) break;
    }
    over_ = true;
    std::vector<Result<T>> answers;
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (answers_[i]) {
        answers.push_back(std::move(*answers_[i]));
      } else {
        answers.push_back(Fail(Code::kDeadlineExceeded, "{} has not answered in time", what(i)));
      }
    }
    return answers;
  }

 private:
  const std::function<bool(const Result<T>&)> enough_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::optional<Result<T>>> answers_ XEC_GUARDED_BY(mutex_);
  size_t missing_ XEC_GUARDED_BY(mutex_);
  bool over_ XEC_GUARDED_BY(mutex_) = false;
};

}  // namespace xec
