// SPDX-License-Identifier: LGPL-3.0-or-later
// The one way from XrdCl's threads to ours. response.cc holds the only ResponseHandler of XEC: it takes the
// answer over, posts it to the executor and deletes itself, so nothing of ours runs on a thread of XrdCl.
#pragma once

#include <memory>

#include "XrdCl/XrdClXRootDResponses.hh"
#include "base/mutex.hh"
#include "runtime/executor.hh"

namespace xec {

// Lets completions through to the executor until it is closed. Thread-safe.
class ExecutorGate {
 public:
  // An open gate, which CloseGates(*executor) finds.
  static std::shared_ptr<ExecutorGate> Make(Executor* executor);

  // Posts the work, or, when closed, destroys it on this thread.
  void Post(Closure work);

  // Posts the work after a delay, or, when closed, destroys it on this thread.
  void PostAfter(Duration delay, Closure work);

  // After this returns the executor is not used any more.
  void Close();

  // Time of the executor; the epoch once closed.
  TimePoint Now() const;

 private:
  friend void CloseGates(const Executor& executor);
  explicit ExecutorGate(Executor* executor) : executor_(executor) {}

  mutable SharedMutex mutex_{LockRank::kExecutorGate};  // shared by users of the executor
  Executor* executor_ XEC_GUARDED_BY(mutex_);  // null when closed
};

using ExecutorGatePtr = std::shared_ptr<ExecutorGate>;

// Closes all gates to this executor.
void CloseGates(const Executor& executor);

// What XrdCl answered to one request.
struct Reply {
  std::unique_ptr<XrdCl::XRootDStatus> status;
  std::unique_ptr<XrdCl::AnyObject> body;  // null where the answer has none
  // False when XrdCl made the answer up: it reports the closing of a file whose connection is gone as
  // success.
  bool from_server = false;

  bool ok() const { return status->IsOK(); }
  // The body as a T that stays owned by the reply; null when there is none.
  template <typename T>
  T* Get() const {
    T* object = nullptr;
    if (body) body->Get(object);
    return object;
  }
};

using OnReply = UniqueFunction<void(Reply)>;

// Calls submit(handler) and later on_reply once, on the executor: with the answer, or with the error of the
// submission itself, after which XrdCl does not call back.
void SendRequest(ExecutorGatePtr gate, UniqueFunction<XrdCl::XRootDStatus(XrdCl::ResponseHandler*)> submit,
                 OnReply on_reply);

}  // namespace xec
