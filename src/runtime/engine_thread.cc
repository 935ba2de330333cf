// SPDX-License-Identifier: LGPL-3.0-or-later
#include "runtime/engine_thread.hh"

#include "base/check.hh"

namespace xec {
namespace {

thread_local bool engine_thread = false;

}  // namespace

void MarkEngineThread() { engine_thread = true; }

void CheckMayBlock() { XEC_CHECK(!engine_thread, "an engine thread must not block"); }

}  // namespace xec
