// SPDX-License-Identifier: LGPL-3.0-or-later
// IoThreads: a few threads for blocking system calls, one set per disk that may hang, so that it holds up
// nobody else. They count as engine threads (SyncWait is refused on them).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.hh"
#include "runtime/unique_function.hh"

namespace xec {

class IoThreads {
 public:
  // Starts the threads; only after a daemon has forked. `name` is cut to 15 bytes.
  IoThreads(std::string name, int threads);
  // Runs what is posted, then ends the threads. May run on one of them (the last owner of a server can be a
  // completion): that one is left to end by itself.
  ~IoThreads();
  IoThreads(const IoThreads&) = delete;
  IoThreads& operator=(const IoThreads&) = delete;

  // Runs `work` soon, in order of posting, never inline. Thread-safe.
  void Post(Closure work);

 private:
  struct Queue {
    Mutex mutex;
    CondVar ready;
    std::deque<Closure> work XEC_GUARDED_BY(mutex);
    bool stopping XEC_GUARDED_BY(mutex) = false;
  };
  static void Run(std::shared_ptr<Queue> queue, std::string name);

  const std::shared_ptr<Queue> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace xec
