// SPDX-License-Identifier: LGPL-3.0-or-later
// XRootD keeps one handle for all clients that read a name, and one for all that write it, for as long as one
// of them has it open. Shared readers would get old bytes after the name was replaced through another gateway
// (promise P3 wants the new ones), shared writers would write into one upload. XRootD has the means against
// it, which it uses for names removed or renamed in the same daemon: it hides a handle from clients that open
// later. We do so at every open, so no two clients share a handle, and XRootD's own locks (`all.export ...
// nolock`) are not needed.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/mutex.hh"

namespace xec {

// Does the daemon we run in have XrdOfsHandle::Hide? It is in no public header but has been the same since
// XRootD 3; tests have none.
bool CanHideHandles();

// Hides the handles of `path` from the next one who opens it; does nothing if that is not possible.
void HideHandles(const char* path);

// Between asking for creation and opening, XRootD looks for a handle of the name. The creator has the turn of
// the name from the one call to the other, where the handle is hidden; else a second writer could find it in
// between. Thread-safe.
class CreationTurns {
 public:
  // XRootD gives up between the two calls, when memory or authorization is missing, without telling us.
  explicit CreationTurns(std::chrono::milliseconds limit = std::chrono::seconds(5)) : limit_(limit) {}

  // Waits until nobody has the turn of `path`, or has had it for longer than the limit; takes it.
  void Take(const std::string& path);
  void Give(const std::string& path);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  const std::chrono::milliseconds limit_;
  Mutex mutex_;
  CondVar given_;
  std::map<std::string, TimePoint> taken_ XEC_GUARDED_BY(mutex_);  // since when
};

// Those of this daemon. An open that changes what is there takes the turn as well.
CreationTurns& TurnsOfDaemon();

}  // namespace xec
