// SPDX-License-Identifier: LGPL-3.0-or-later
// ExplainedFile: an open file of XRootD 5 whose errors say why. XRootD 6 asks us for the sentence
// (getErrMsg); XRootD 5 has only the words of an error number, such as "invalid argument".
#pragma once

#include <memory>

#include <XrdSfs/XrdSfsInterface.hh>

namespace xec {

// From XRootD 6 on the file itself. Null for null.
std::unique_ptr<XrdSfsFile> Explained(std::unique_ptr<XrdSfsFile> file);

}  // namespace xec
