// SPDX-License-Identifier: LGPL-3.0-or-later
// LateServer: stands for a member whose directory could not be found when the store was opened. It answers
// kUnavailable until Bind gives it the server, and passes everything on from then on.
#pragma once

#include <string>

#include "base/mutex.hh"
#include "server/forwarding.hh"

namespace xec {

// Thread-safe.
class LateServer final : public ForwardingServer<LateServer> {
 public:
  // `why`: what may be the reason, for the answers given before Bind. `executor` runs these, and outlives
  // them.
  LateServer(std::string member_id, std::string why, Executor& executor);

  // Call at most once.
  void Bind(DataServerPtr server);

  const std::string& name() const override;

  template <typename T, typename Call>
  void Forward(const Request&, Call call, Done<T> done) {
    if (const DataServerPtr server = Bound()) return call(*server, std::move(done));
    executor_.Post([name = name_, why = why_, done = std::move(done)]() mutable {
      done(Fail(Code::kUnavailable, "member {} of the store is missing ({})", name, why));
    });
  }

 private:
  DataServerPtr Bound() const;  // null before Bind

  const std::string name_, why_;
  Executor& executor_;
  mutable Mutex mutex_;
  DataServerPtr server_ XEC_GUARDED_BY(mutex_);  // set once
};

}  // namespace xec
