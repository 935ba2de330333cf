// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tree_xrootd/ask.hh"

#include <optional>

#include "runtime/engine_thread.hh"

namespace xec {
namespace {

struct Answer {
  Mutex mutex;
  CondVar came;
  std::optional<Reply> reply XEC_GUARDED_BY(mutex);
};

}  // namespace

Result<Reply> Ask(const ExecutorGatePtr& gate, TimePoint deadline, const std::string& what,
                  std::shared_ptr<const void> keep, Submit submit) {
  CheckMayBlock();
  const auto answer = std::make_shared<Answer>();
  SendRequest(gate, std::move(submit), [answer, keep = std::move(keep)](Reply reply) {
    const MutexLock lock(answer->mutex);
    answer->reply = std::move(reply);
    answer->came.NotifyAll();
  });
  MutexLock lock(answer->mutex);
  while (!answer->reply) {
    if (!answer->came.WaitUntil(answer->mutex, deadline) && !answer->reply)
      return Fail(Code::kDeadlineExceeded, "{} got no answer in time", what);
  }
  return std::move(*answer->reply);
}

Result<Reply> AskOk(const ExecutorGatePtr& gate, TimePoint deadline, const std::string& what,
                    std::shared_ptr<const void> keep, Submit submit) {
  XEC_ASSIGN_OR_RETURN(Reply reply, Ask(gate, deadline, what, std::move(keep), std::move(submit)));
  if (!reply.ok()) return ToError(*reply.status, what);
  return reply;
}

bool AskAgain(Patience& patience, const Reply& reply, const ExecutorGatePtr& gate, TimePoint began,
              TimePoint deadline) {
  const bool refused = reply.status->code == XrdCl::errConnectionError;
  if (!patience.Again(refused, gate->Now(), began, deadline)) return false;
  Mutex mutex;
  CondVar nothing;
  MutexLock lock(mutex);
  const TimePoint end = gate->Now() + kRestartPause;
  while (nothing.WaitUntil(mutex, end)) {
  }
  return true;
}

}  // namespace xec
