// SPDX-License-Identifier: LGPL-3.0-or-later
// XRootD shares one open handle among all clients that read a name, for as long as one of them has it open.
// When the name is replaced through another gateway meanwhile, every later client would still get the old
// bytes (promise P3 wants the new ones). XRootD has the means against it, which it uses for names removed or
// renamed in the same daemon: it hides the handle from those who open later.
#pragma once

namespace xec {

// Hides the handles of `path` from the next one who opens it. Calls XrdOfsHandle::Hide of the daemon we run
// in, which is in no public header but has been the same since XRootD 3; false if this daemon has none, as in
// tests.
bool HideHandles(const char* path);

}  // namespace xec
