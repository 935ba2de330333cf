// SPDX-License-Identifier: LGPL-3.0-or-later
// A local file that appears under its name when it is complete, or standard output. Blocking; one thread.
#pragma once

#include <string>

#include "base/bytes.hh"
#include "base/result.hh"

namespace xec {

// A file is written beside its target under a temporary name and renamed at the end; the destructor, and a
// signal, remove what was not finished. What is no file (a device, a FIFO) is written in place instead, and
// stays what it is.
class LocalOutput {
 public:
  // "-" is standard output; a directory gets a file called `name_in_directory`; a symbolic link is followed.
  // Waits for the reader of a FIFO. Errors: those of errno.
  static Result<LocalOutput> Open(const std::string& target, const std::string& name_in_directory);

  LocalOutput(LocalOutput&& other) noexcept;
  LocalOutput& operator=(LocalOutput&&) = delete;
  ~LocalOutput();

  // Writes all of it. kNoSpace, ...
  Status Write(ByteSpan bytes);
  // Makes the file appear, replacing one that is there.
  Status Finish();

  const std::string& target() const { return target_; }
  bool standard_output() const { return target_ == "-"; }

 private:
  LocalOutput() = default;

  int fd_ = -1;
  std::string target_;  // as the user names it
  std::string file_;  // what the temporary becomes
  std::string temporary_;  // "" = written in place
};

}  // namespace xec
