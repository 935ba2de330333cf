// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/handle_sharing.hh"

#include <dlfcn.h>

namespace xec {
namespace {

// static void XrdOfsHandle::Hide(const char*)
using Hide = void (*)(const char*);

Hide FindHide() {
  static const Hide hide = reinterpret_cast<Hide>(dlsym(RTLD_DEFAULT, "_ZN12XrdOfsHandle4HideEPKc"));
  return hide;
}

}  // namespace

bool CanHideHandles() { return FindHide() != nullptr; }

void HideHandles(const char* path) {
  if (const Hide hide = FindHide()) hide(path);
}

void CreationTurns::Take(const std::string& path) {
  MutexLock lock(mutex_);
  while (true) {
    const TimePoint now = std::chrono::steady_clock::now();
    const auto [turn, free] = taken_.try_emplace(path, now);
    if (free || now - turn->second >= limit_) {
      turn->second = now;
      return;
    }
    given_.WaitUntil(mutex_, turn->second + limit_);
  }
}

void CreationTurns::Give(const std::string& path) {
  const MutexLock lock(mutex_);
  if (taken_.erase(path) > 0) given_.NotifyAll();
}

CreationTurns& TurnsOfDaemon() {
  static CreationTurns turns;
  return turns;
}

}  // namespace xec
