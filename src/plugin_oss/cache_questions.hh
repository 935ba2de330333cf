// SPDX-License-Identifier: LGPL-3.0-or-later
// What XCache of XRootD 6 asks its origin when it has the line `pfc.httpcc on`: of a file that it begins to
// keep how long it may (kXR_QFinfo with "head"), and before it opens one that it keeps whether it is the same
// still (kXR_QFSinfo with "PATH?code=head"). XRootD 5 has no such requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace xec {

// A zero at its end does not count.
bool IsHeadQuestion(std::string_view question);

// The path; nullopt: another question.
std::optional<std::string> PathOfHeadQuestion(std::string_view question);

// The answer to the first one, in JSON: to be asked again before each use.
std::string CacheControl(std::string_view tag);

// XRootD frees it with delete[].
char* AnswerOf(std::string_view text);

}  // namespace xec
