// SPDX-License-Identifier: LGPL-3.0-or-later
// Text made from the tables of commands and options, kept in the repository: a test compares it with
// docs/configuration.md, man/xec.1 and completion/xec.bash, and rewrites them when XEC_REWRITE is set.
#pragma once

#include <string>

namespace xec {

std::string OptionsMarkdown();  // the part of docs/configuration.md between its markers
std::string ManPage();
std::string BashCompletion();

}  // namespace xec
