// SPDX-License-Identifier: LGPL-3.0-or-later
// ObjectPlaces: which server holds which chunks of one object, in the form that inventories keep; and what
// the object loses with some of them. Pure.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/census.hh"
#include "api/chunk_report.hh"
#include "codec/geometry.hh"
#include "protocol/version.hh"

namespace xec {

// Chunks of one lane in stripes that follow one another and that all are, or are not, on one server.
struct LaneRun {
  // Of a chunk that was never written, or whose server nobody knows.
  static constexpr MemberIndex kNoServer = std::numeric_limits<MemberIndex>::max();

  uint32_t lane = 0;
  uint64_t first = 0;  // stripe, counted in the order of the object from 0 on
  uint64_t stripes = 0;
  uint64_t bytes = 0;  // of the chunks
  MemberIndex server = kNoServer;
  // False: the server should have the chunks, and does not: it has answered. Silence is no loss.
  bool held = true;
  bool operator==(const LaneRun&) const = default;
};

// Every chunk that has bytes is in one run; an object without bytes has none.
struct ObjectPlaces {
  std::string path = {};
  Version version = {};
  std::string object_id = {};  // "" in layout xrdec
  Geometry geometry = {};
  uint64_t bytes = 0;
  std::vector<LaneRun> runs = {};  // by lane, then by first stripe
  bool operator==(const ObjectPlaces&) const = default;
};

// Makes the runs of one object of reports about its chunks.
class PlacesBuilder {
 public:
  explicit PlacesBuilder(ObjectPlaces object) : object_(std::move(object)) {}
  // Of every chunk that has bytes, stripe by stripe in the order of the object.
  void Add(uint32_t lane, const ChunkReport& chunk);
  // Once, at the end.
  ObjectPlaces Take();

 private:
  ObjectPlaces object_;
  std::map<uint32_t, LaneRun> open_;  // by lane: the last run
  std::optional<uint64_t> stripe_;    // number of the stripe that was reported last
  uint64_t ordinal_ = 0;              // of it
};

// What an object loses.
struct ObjectLoss {
  std::vector<uint32_t> lanes;  // ascending
  uint64_t stripes = 0;         // that lose a chunk
  uint64_t bytes = 0;           // of lost chunks
  // Further losses of servers that the worst stripe survives then, as Redundancy::survives; below 0: beyond
  // repair.
  int survives = 0;
  bool BeyondRepair() const { return survives < 0; }
};

// What is left of it, as a census would count it, without the runs that are `gone`. `away` and `problem` are
// not filled in.
Redundancy RedundancyOf(const ObjectPlaces& object, const std::function<bool(const LaneRun&)>& gone);

// What it loses when the runs that are `hit` are gone, whether or not they are held now; nullopt: nothing.
std::optional<ObjectLoss> LossOf(const ObjectPlaces& object, const std::function<bool(const LaneRun&)>& hit);

}  // namespace xec
