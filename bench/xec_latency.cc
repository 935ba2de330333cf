// SPDX-License-Identifier: LGPL-3.0-or-later
// Times single metadata operations of one connected client. Each line of standard input, "OPERATION COUNT
// PATH...", runs the operation COUNT times on the paths in turn and prints one line of JSON: milliseconds of
// each in order, and how many ended with an error. Operations: stat, ls, open (and close).
//
//   printf 'stat 100 /a/1 /a/2\n' | xec_latency root://localhost:1094
#include <chrono>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "XrdCl/XrdClFile.hh"
#include "XrdCl/XrdClFileSystem.hh"

namespace {

using Clock = std::chrono::steady_clock;
// Far above what is measured: a client that gives up would hide a stall.
constexpr int kTimeoutSeconds = 120;

bool Stat(XrdCl::FileSystem& filesystem, const std::string& path) {
  XrdCl::StatInfo* info = nullptr;
  const XrdCl::XRootDStatus status = filesystem.Stat(path, info, kTimeoutSeconds);
  const std::unique_ptr<XrdCl::StatInfo> owned(info);
  return status.IsOK();
}

bool List(XrdCl::FileSystem& filesystem, const std::string& path) {
  XrdCl::DirectoryList* list = nullptr;
  const XrdCl::XRootDStatus status =
      filesystem.DirList(path, XrdCl::DirListFlags::Stat, list, kTimeoutSeconds);
  const std::unique_ptr<XrdCl::DirectoryList> owned(list);
  return status.IsOK();
}

bool Open(const std::string& url, const std::string& path) {
  XrdCl::File file;
  const XrdCl::XRootDStatus status =
      file.Open(url + "/" + path, XrdCl::OpenFlags::Read, XrdCl::Access::None, kTimeoutSeconds);
  if (!status.IsOK()) return false;
  return file.Close(kTimeoutSeconds).IsOK();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: xec_latency root://HOST:PORT\n");
    return 2;
  }
  const std::string url = argv[1];
  XrdCl::FileSystem filesystem{XrdCl::URL(url)};
  Stat(filesystem, "/");  // connects
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string operation, path;
    size_t count = 0;
    words >> operation >> count;
    std::vector<std::string> paths;
    while (words >> path) paths.push_back(path);
    const bool known = operation == "stat" || operation == "ls" || operation == "open";
    if (!known || paths.empty()) {
      fmt::print(stderr, "xec_latency: not understood: {}\n", line);
      return 2;
    }
    std::string times;
    size_t errors = 0;
    for (size_t i = 0; i < count; ++i) {
      const std::string& target = paths[i % paths.size()];
      const auto start = Clock::now();
      const bool ok = operation == "stat" ? Stat(filesystem, target)
                      : operation == "ls" ? List(filesystem, target)
                                          : Open(url, target);
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      times += fmt::format("{}{:.3f}", times.empty() ? "" : ", ", ms);
      if (!ok) ++errors;
    }
    fmt::print("{{\"errors\": {}, \"ms\": [{}]}}\n", errors, times);
    std::fflush(stdout);
  }
  return 0;
}
