// SPDX-License-Identifier: LGPL-3.0-or-later
// Which step of the commit protocol a request is, read off its operation and the states it names.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "server/decorators/decorator.hh"

namespace xec::sim {

bool IsObjectDirectory(const std::string& path);

// Is it the path of an archive, sealed or promoted?
bool IsArchive(const std::string& path);

// A step by which a version comes to a home that lacks it?
bool IsCopy(const std::string& step);

// For one gateway: what a request is for also follows from what it asked for before.
class StepNamer {
 public:
  // `to`: of renames. E.g. "promote", "witness: prove", "sweep: archive".
  std::string Name(size_t server, Operation operation, const std::string& path, const std::string& to);
  // In between, what is done to archives and drafts in this object directory is a repair's.
  void BeginRepair(const std::string& object_directory) { repairing_.insert(object_directory); }
  void EndRepair(const std::string& object_directory);

 private:
  struct Upload {
    bool written = false;  // something of it: servers that come now are spares
    std::set<size_t> spares;
  };
  std::string OfSeal(std::string step, size_t server, Operation operation, const std::string& path);
  std::map<std::string, Upload> uploads_;  // by the path of their seals
  std::set<std::string>
      sealed_;  // object directories with exclusive seals that are neither promoted nor gone
  std::multiset<std::string> repairing_;
};

}  // namespace xec::sim
