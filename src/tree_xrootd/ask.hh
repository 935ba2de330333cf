// SPDX-License-Identifier: LGPL-3.0-or-later
// Blocking requests to XRootD servers, each of which ends in bounded time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hh"
#include "server_xrootd/response.hh"
#include "tree_xrootd/ask_limits.hh"
#include "tree_xrootd/patience.hh"
#include "xrdcompat/status.hh"

namespace xec {

using Submit = UniqueFunction<XrdCl::XRootDStatus(XrdCl::ResponseHandler*)>;

// Sends a request and waits for its answer, which may be an error of the server's. `keep` lives until XrdCl
// has let go of the request, perhaps long after this has returned; what the request refers to belongs there.
// Not on a thread of the gate's executor. Error: kDeadlineExceeded, it may have been carried out.
Result<Reply> Ask(const ExecutorGatePtr& gate, TimePoint deadline, const std::string& what,
                  std::shared_ptr<const void> keep, Submit submit);

// The same, where an error of the server's is one.
Result<Reply> AskOk(const ExecutorGatePtr& gate, TimePoint deadline, const std::string& what,
                    std::shared_ptr<const void> keep, Submit submit);

// Is a request with this answer to be sent again? If so, a pause has passed. XrdCl sends requests again whose
// connection was lost, so one whose connection is refused may have been carried out by a server that ended.
bool AskAgain(Patience& patience, const Reply& reply, const ExecutorGatePtr& gate, TimePoint began,
              TimePoint deadline);

// Of an answer about several attributes, each with a status of its own; may be null. Error: the first one.
template <typename Attribute>
Status FirstRefused(const std::vector<Attribute>* attributes, const std::string& what) {
  if (attributes == nullptr) return OkStatus();
  for (const Attribute& attribute : *attributes) {
    if (!attribute.status.IsOK())
      return ToError(attribute.status, fmt::format("{} ({})", what, attribute.name));
  }
  return OkStatus();
}

}  // namespace xec
