// SPDX-License-Identifier: LGPL-3.0-or-later
// From the words of the command line to options that make sense.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "load/options.hh"

namespace xec::load {

struct ParsedCommand {
  std::optional<Command> command;  // null: say `text` and exit with `exit_code`
  int exit_code = 0;               // 0 after --help, 2 when the words make no sense
  std::string text;
};

// `words` without the name of the program.
ParsedCommand ParseCommandLine(std::vector<std::string> words);

// The largest number of bytes that the buffers of a run take.
uint64_t BufferBytes(const Command& command);

}  // namespace xec::load
