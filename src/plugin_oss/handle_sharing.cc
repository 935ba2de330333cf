// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/handle_sharing.hh"

#include <dlfcn.h>

namespace xec {

bool HideHandles(const char* path) {
  // static void XrdOfsHandle::Hide(const char*)
  using Hide = void (*)(const char*);
  static const Hide hide = reinterpret_cast<Hide>(dlsym(RTLD_DEFAULT, "_ZN12XrdOfsHandle4HideEPKc"));
  if (hide == nullptr) return false;
  hide(path);
  return true;
}

}  // namespace xec
