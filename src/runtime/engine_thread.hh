// SPDX-License-Identifier: LGPL-3.0-or-later
// Which threads are engine threads: those that run coroutines, and so must never block.
#pragma once

namespace xec {

// Marks the calling thread as an engine thread, on which blocking is a bug.
void MarkEngineThread();

// CHECKs that the calling thread is no engine thread. For whoever is about to block.
void CheckMayBlock();

}  // namespace xec
