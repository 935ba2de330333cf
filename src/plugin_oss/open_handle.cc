// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/open_handle.hh"

namespace xec {
namespace {

thread_local OpenOfThread* of_thread = nullptr;

}  // namespace

OpenOfThread::OpenOfThread() { of_thread = this; }
OpenOfThread::~OpenOfThread() { of_thread = nullptr; }
OpenOfThread* OpenOfThread::Get() { return of_thread; }

}  // namespace xec
