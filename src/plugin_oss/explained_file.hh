// SPDX-License-Identifier: LGPL-3.0-or-later
// ExplainedFile: an open file whose errors say why. XRootD 5 has only the words of an error number, such as
// "invalid argument". XRootD 6 asks for the sentence (getErrMsg), but not when it closes a file (6.1.0).
#pragma once

#include <memory>

#include <XrdSfs/XrdSfsInterface.hh>

namespace xec {

// Null for null.
std::unique_ptr<XrdSfsFile> Explained(std::unique_ptr<XrdSfsFile> file);

}  // namespace xec
