// SPDX-License-Identifier: LGPL-3.0-or-later
// Where the chunks of a version lie in the native layout. Pure.
//
// A version has n = k+m lanes. Lane i is one archive, on the server that the manifest names in servers[i].
// Chunk c of stripe s lies in lane (c + s) mod n, so that parity, which ordinary reads do not touch, goes
// round:
//
//              lane 0   lane 1   lane 2   lane 3   lane 4   lane 5        4+2
//   stripe 0   data 0   data 1   data 2   data 3   par  4   par  5
//   stripe 1   par  5   data 0   data 1   data 2   data 3   par  4
//   stripe 2   par  4   par  5   data 0   data 1   data 2   data 3
//
// Chunks without bytes have no member, and a lane without members has no archive (servers[i] is empty): an
// object of one stripe uses lanes 0..d-1 and k..n-1 only, d being its data chunks with bytes; the empty
// object none. The lanes that are used get the homes first. If fewer than a quorum of homes has an archive
// then (the empty object, a small m, homes that are down), archives without members, "fills", are added on
// further homes: same file name, a manifest of the kind witness without lane.
//
// Readers take the mapping as a hint for what to open first; the directories of the archives tell.
//
// On its server an archive lies in the object directory of the name: as a seal (s.<oid> or e.<v>.<oid>) while
// it is written, as p.<v>.<oid>.<size> once promoted (protocol/state_name.hh).
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "codec/stripe_map.hh"
#include "protocol/object_path.hh"
#include "protocol/state_name.hh"

namespace xec {

inline uint32_t LaneOfChunk(uint64_t stripe, uint32_t chunk, uint32_t lanes) {
  return static_cast<uint32_t>((chunk + stripe) % lanes);
}

// The chunk of `stripe` that lane `lane` holds; the inverse of LaneOfChunk.
inline uint32_t ChunkOfLane(uint64_t stripe, uint32_t lane, uint32_t lanes) {
  return static_cast<uint32_t>((lane + lanes - stripe % lanes) % lanes);
}

// The lanes of an object that hold members, ascending.
inline std::vector<uint32_t> LanesWithMembers(const StripeMap& stripes) {
  const uint32_t total = stripes.geometry().Total();
  std::set<uint32_t> lanes;
  for (uint64_t at = 0; at < stripes.object_size() && lanes.size() < total;) {
    const StripeExtent extent = stripes.At(at);
    for (uint32_t chunk = 0; chunk < total; ++chunk) {
      if (stripes.geometry().ChunkBytes(extent.bytes, 0, chunk) > 0)
        lanes.insert(LaneOfChunk(extent.stripe, chunk, total));
    }
    at = extent.end();
  }
  return {lanes.begin(), lanes.end()};
}

// Of the chunks in a lane.
inline uint64_t LaneBytes(const StripeMap& stripes, uint32_t lane) {
  const uint32_t total = stripes.geometry().Total();
  uint64_t bytes = 0;
  for (uint64_t at = 0; at < stripes.object_size(); at = stripes.At(at).end()) {
    const uint64_t stripe = stripes.At(at).stripe;
    bytes += stripes.ChunkBytes(stripe, ChunkOfLane(stripe, lane, total));
  }
  return bytes;
}

// How many lanes may be missing when an upload ends; `archives_min` as in WriteOptions.
inline size_t LossesMax(const Geometry& geometry, size_t archives_min) {
  if (archives_min == 0) return 0;
  const size_t total = geometry.Total();
  return total - std::clamp<size_t>(archives_min, geometry.data_chunks + 1, total);
}

inline std::string ArchivePath(const ObjectPath& path, const State& state) {
  return path.ObjectDirectory() + "/" + FormatState(state);
}

}  // namespace xec
