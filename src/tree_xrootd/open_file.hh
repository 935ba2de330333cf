// SPDX-License-Identifier: LGPL-3.0-or-later
// OpenFile: one file that is open on one XRootD server, until it is closed or its connection is lost.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tree_xrootd/endpoint.hh"

namespace XrdCl {
class File;
}

namespace xec {

struct Reply;

enum class OpenAs {
  kRead,
  kUpdate,   // for reading and writing
  kReplace,  // the same, and it begins empty
  kCreate,   // a new one, and its directories where the cluster makes them
};

struct OpenWhat {
  OpenAs as = OpenAs::kRead;
  uint32_t mode = 0644;  // of a new file
  Settings settings = {};  // the same, where the server is a gateway
  bool make_parents = false;
};

// Blocking; thread-safe but for Close, which is the last request. One that is destroyed without it is closed
// by and by. Errors of all: kUnavailable and kDeadlineExceeded, after which nothing can be done with it.
class OpenFile : public std::enable_shared_from_this<OpenFile> {
 public:
  // Follows the redirects of a manager. Errors: kNotFound, kIsDirectory, kAlreadyExists, kUnsupported.
  static Result<std::shared_ptr<OpenFile>> Open(const EndpointPtr& first, const std::string& path,
                                                const OpenWhat& what);
  // For Open.
  OpenFile(EndpointPtr first, std::string host_port, std::string path);
  ~OpenFile();

  TimePoint Now() const { return first_->Now(); }
  const std::string& path() const { return path_; }
  // The server that it is open on.
  const std::string& host_port() const { return host_port_; }
  // As the server told when it was opened.
  const Told& told() const { return told_; }

  // Fewer bytes than fit only at the end.
  Result<uint64_t> Read(uint64_t offset, MutableByteSpan into);
  Status Write(uint64_t offset, ByteSpan bytes);
  Status Truncate(uint64_t size);
  Status Sync();
  // Of a file that has changes: those of the version that Sync or Close makes. False: the server is no
  // gateway, or does not take them now, e.g. as the name is open twice, so that it cannot know which one is
  // meant.
  Result<bool> SetSettings(const Settings& settings);
  // The changes of a gateway's file are there from here on.
  Status Close();

 private:
  // On the server that this object is for. A manager's answer is an error that says where else to go.
  Result<Reply> OpenHere(const std::string& url, const OpenWhat& what, const std::string& described,
                         TimePoint deadline);
  Status TakeTold();
  std::string Describe(const char* verb) const;
  TimePoint DataDeadline() const;

  const EndpointPtr first_;
  const std::string host_port_;
  const std::string path_;
  const std::shared_ptr<XrdCl::File> file_;  // shared only with the close of the destructor
  Told told_;
};

}  // namespace xec
