// SPDX-License-Identifier: LGPL-3.0-or-later
// RemoteFile: a file that a program has open for as long as it likes. What is open on the server for it is
// closed when it is idle or lost, and opened again for the next request.
#pragma once

#include <functional>
#include <memory>

#include "base/mutex.hh"
#include "tree_xrootd/open_file.hh"

namespace xec {

// Did the request fail since the connection or the server is gone? Then what is open there is too.
bool IsLost(Code code);

// Thread-safe, blocking.
class RemoteFile {
 public:
  using Again = std::function<Result<std::shared_ptr<OpenFile>>()>;
  // `again` opens it anew, without emptying it.
  RemoteFile(std::shared_ptr<OpenFile> open, Again again);

  // What is open, opened again if need be. Error: kNotCurrent, another file is there by now; those of
  // OpenFile::Open.
  Result<std::shared_ptr<OpenFile>> Use();
  // This one can do nothing any more.
  void Lost(const std::shared_ptr<OpenFile>& open);
  // Takes away what is open, if anything is, and expects this file when it is opened again; "": any.
  std::shared_ptr<OpenFile> Take(std::string identity);
  void CloseIfIdleSince(TimePoint time);

 private:
  const Again again_;
  Mutex mutex_;
  CondVar opened_;
  bool opening_ XEC_GUARDED_BY(mutex_) = false;
  std::shared_ptr<OpenFile> open_ XEC_GUARDED_BY(mutex_);
  std::string identity_ XEC_GUARDED_BY(mutex_);
  TimePoint used_ XEC_GUARDED_BY(mutex_) = {};
};

}  // namespace xec
