// SPDX-License-Identifier: LGPL-3.0-or-later
// A stock xrootd data server for tests: its own temporary directory, a port of its own in the network
// namespace of the test program, killed with the test program at the latest.
#pragma once

#include <string>
#include <sys/types.h>

namespace xec {

// Moves this process into a network namespace of its own with loopback up, as xrootd listens on all
// addresses. Call it first in main(). Returns why that is impossible ("" when done); servers are not started
// then.
std::string EnterPrivateNetwork();

// Why no servers can be started in this process; empty when they can. Set by main().
std::string* NoServersReason();

struct XrootdProcessOptions {
  bool spaces = false;     // oss.space: a name space of symlinks, data in another directory
  bool trace = false;      // logs every request (RequestCount)
  std::string extra = {};  // further configuration lines
};

class XrootdProcess {
 public:
  using Options = XrootdProcessOptions;

  // Starts the server and waits until it serves (at most 20 s; aborts the test program otherwise).
  explicit XrootdProcess(Options options = {});
  ~XrootdProcess();
  XrootdProcess(const XrootdProcess&) = delete;
  XrootdProcess& operator=(const XrootdProcess&) = delete;

  std::string url() const;
  int port() const { return port_; }
  // Where files lie; "/a" of the server is data_directory() + "/a".
  const std::string& data_directory() const { return data_; }

  void Signal(int signal) const;
  // SIGKILL, and waits for the end.
  void Kill();
  // Starts it again on the same port and directory.
  void Start();

  // How many lines of the trace name this request ("open", "write", "sync", "close", "dirlist", ...).
  int RequestCount(const std::string& request) const;
  std::string Log() const;
  // Files below its directories that the server process has open.
  int OpenDataFiles() const;

 private:
  void WriteConfiguration() const;
  std::string WaitUntilReady() const;  // what went wrong; empty: it is ready

  const Options options_;
  const int port_;
  std::string directory_;
  std::string data_;
  pid_t pid_ = -1;
};

}  // namespace xec
