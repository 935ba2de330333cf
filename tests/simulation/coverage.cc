// SPDX-License-Identifier: LGPL-3.0-or-later
#include "coverage.hh"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include <fmt/core.h>

namespace xec::sim {
namespace {

// Every step of the protocol that the simulator's clients and cleaners take (steps.cc names them).
constexpr const char* kSteps[] = {
    "archive: close",
    "attributes draft: close",
    "attributes draft: create",
    "attributes draft: sync",
    "attributes draft: write",
    "attributes: close",
    "attributes: publish",
    "descriptor: close",
    "descriptor: create",
    "descriptor: open",
    "descriptor: read",
    "descriptor: remove",
    "descriptor: rename",
    "descriptor: sync",
    "descriptor: write",
    "directory log: close",
    "directory log: create",
    "directory log: list",
    "directory log: open",
    "directory log: read",
    "directory log: remove",
    "directory log: sync",
    "directory log: write",
    "exclusive seal: close",
    "exclusive seal: create",
    "exclusive seal: sync",
    "exclusive seal: write",
    "fence: abort directory seal",
    "fence: abort rename",
    "fence: abort seal",
    "finish: accept",
    "finish: move archive",
    "identity: close",
    "identity: open",
    "identity: read",
    "list folder",
    "look",
    "look: barrier",
    "look: many",
    "mark: abort mark",
    "mark: directory seal",
    "mark: part of a name",
    "mark: removal seal",
    "mark: tombstone",
    "mark: witness",
    "moved tombstone: close",
    "promote",
    "promote directory",
    "promote exclusive",
    "proved witness: close",
    "read: open",
    "read: read",
    "remove folder",
    "remove object directory",
    "repair: close draft",
    "repair: create draft",
    "repair: open",
    "repair: place",
    "repair: read",
    "repair: remove archive",
    "repair: sync draft",
    "repair: write draft",
    "rename seal: close",
    "rename seal: create",
    "rename seal: sync",
    "rename seal: write",
    "rename witness: close",
    "rename witness: create",
    "rename witness: sync",
    "rename witness: write",
    "rename: commit",
    "rename: retire",
    "seal: close",
    "seal: create",
    "seal: sync",
    "seal: write",
    "spare: close",
    "spare: create",
    "spare: read back",
    "spare: sync",
    "spare: write",
    "sweep: abort mark",
    "sweep: aborted directory seal",
    "sweep: aborted rename",
    "sweep: aborted seal",
    "sweep: archive",
    "sweep: attributes",
    "sweep: attributes draft",
    "sweep: directory",
    "sweep: directory seal",
    "sweep: exclusive seal",
    "sweep: moved tombstone",
    "sweep: part of a name",
    "sweep: proved witness",
    "sweep: removal seal",
    "sweep: rename seal",
    "sweep: rename witness",
    "sweep: seal",
    "sweep: tombstone",
    "sweep: witness",
    "sync states",
    "witness: close",
    "witness: create",
    "witness: prove",
    "witness: prove directory",
    "witness: sync",
    "witness: write",
};

bool EndsWithOneOf(const std::string& step, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return step.ends_with(end); });
}

// Creates, writes or makes a directory.
bool NeedsSpace(const std::string& step) {
  return EndsWithOneOf(step, {": create", ": write", "create draft", "write draft"}) ||
         step.starts_with("mark: ") || step == "sync states";
}

// Changes nothing that is on the server by a name.
bool OnlyAsks(const std::string& step) {
  return EndsWithOneOf(step, {": open", ": read", ": list", ": sync", ": close", "sync draft", "close draft",
                              "read back"}) ||
         step.starts_with("look") || step == "list folder";
}

// Why a step and a fault cannot meet; nullptr: they can.
const char* Impossible(const std::string& step, Fault fault) {
  const bool reads = step == "read: read" || step == "repair: read" || step == "spare: read back";
  const bool opens = step == "read: open" || step == "repair: open";
  if (step.starts_with("descriptor: ") && fault > Fault::kSleepAfter)
    return "the members change where servers do not suffer";
  switch (fault) {
    case Fault::kWrongBytes:
    case Fault::kShortRead: return reads ? nullptr : "only the answer to a read has bytes of a file in it";
    case Fault::kWrongError:
      return reads || opens ? nullptr
                            : "a server that lies does so about archives, which m others make up for";
    case Fault::kNoSpace: return NeedsSpace(step) ? nullptr : "it needs no space";
    case Fault::kReadOnly: return OnlyAsks(step) ? "it changes no file system" : nullptr;
    case Fault::kEmptyDisk:
    case Fault::kForeignDisk:
      return step.starts_with("identity: ")
                 ? nullptr
                 : "a server with another disk is asked for no more than who it is";
    default: return nullptr;
  }
}

}  // namespace

void PrintCoverage(const Coverage& coverage) {
  fmt::print("{:26}", "protocol step");
  for (size_t f = 0; f < kFaultCount; ++f) fmt::print(" {:>12}", FaultName(static_cast<Fault>(f)));
  fmt::print("\n");
  for (const auto& [step, counts] : coverage) {
    fmt::print("{:26}", step);
    for (size_t f = 0; f < kFaultCount; ++f) {
      const bool dash = counts[f] == 0 && Impossible(step, static_cast<Fault>(f)) != nullptr;
      fmt::print(" {:>12}", dash ? "-" : std::to_string(counts[f]));
    }
    fmt::print("\n");
  }
  fmt::print("-:\n");
  for (size_t f = 0; f < kFaultCount; ++f) {
    const auto fault = static_cast<Fault>(f);
    const auto example = std::find_if(std::begin(kSteps), std::end(kSteps),
                                      [&](const char* step) { return Impossible(step, fault) != nullptr; });
    if (example != std::end(kSteps)) fmt::print("  {}: {}\n", FaultName(fault), Impossible(*example, fault));
  }
}

std::vector<std::string> CoverageGaps(const Coverage& coverage) {
  std::vector<std::string> gaps;
  for (const char* step : kSteps) {
    const auto row = coverage.find(step);
    if (row == coverage.end()) {
      gaps.push_back(fmt::format("no seed came to the step \"{}\"", step));
      continue;
    }
    for (size_t f = 0; f < kFaultCount; ++f) {
      const auto fault = static_cast<Fault>(f);
      if (row->second[f] == 0 && Impossible(step, fault) == nullptr) {
        gaps.push_back(fmt::format("no fault \"{}\" met the step \"{}\"", FaultName(fault), step));
      }
    }
  }
  for (const auto& [step, counts] : coverage) {
    const bool known =
        std::any_of(std::begin(kSteps), std::end(kSteps), [&](const char* s) { return step == s; });
    if (!known) gaps.push_back(fmt::format("the step \"{}\" is not in the list of coverage.cc", step));
  }
  return gaps;
}

}  // namespace xec::sim
