// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/io_threads.hh"

#include <pthread.h>

#include "runtime/engine_thread.hh"

namespace xec {

IoThreads::IoThreads(std::string name, int threads) : queue_(std::make_shared<Queue>()) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back(Run, queue_, name.substr(0, 15));
}

IoThreads::~IoThreads() {
  {
    MutexLock lock(queue_->mutex);
    queue_->stopping = true;
    queue_->ready.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    // A thread cannot wait for itself; it owns the queue it still looks at.
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

void IoThreads::Post(Closure work) {
  // Held, since what is posted may let go of this object.
  const std::shared_ptr<Queue> queue = queue_;
  {
    MutexLock lock(queue->mutex);
    queue->work.push_back(std::move(work));
  }
  // A thread woken under the lock would go to sleep again at once.
  queue->ready.NotifyOne();
}

void IoThreads::Run(std::shared_ptr<Queue> queue, std::string name) {
  pthread_setname_np(pthread_self(), name.c_str());
  MarkEngineThread();
  MutexLock lock(queue->mutex);
  while (true) {
    while (!queue->stopping && queue->work.empty()) queue->ready.Wait(queue->mutex);
    if (queue->work.empty()) return;
    Closure work = std::move(queue->work.front());
    queue->work.pop_front();
    lock.Unlock();
    work();
    work = {};  // captures may run anything: never under the lock
    lock.Lock();
  }
}

}  // namespace xec
