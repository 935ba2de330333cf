// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/configuration/configuration.hh"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include "archive/archive_format.hh"
#include "assembly/servers/server_kinds.hh"
#include "base/units.hh"
#include "runtime/buffer.hh"

namespace xec {

bool IsAtOrBelow(std::string_view path, std::string_view prefix) {
  if (prefix == "/") return true;
  return path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
}

Geometry Configuration::GeometryOver(const Geometry& base) const {
  Geometry geometry = base;
  if (chunks) {
    geometry.data_chunks = chunks->data_chunks;
    geometry.parity_chunks = chunks->parity_chunks;
  }
  if (chunk_size_bytes) geometry.chunk_size_bytes = *chunk_size_bytes;
  return geometry;
}

std::vector<PathRule> Configuration::RulesOver(const Geometry& base) const {
  const Geometry store = GeometryOver(base);
  std::vector<PathRule> result;
  for (const GeometryRule& rule : rules) {
    Geometry geometry = rule.chunks;
    geometry.chunk_size_bytes = rule.chunk_size_bytes.value_or(store.chunk_size_bytes);
    result.push_back(PathRule{rule.prefix, geometry});
  }
  return result;
}

DigestOptions Configuration::DigestsFor(std::string_view path) const {
  const ChecksumRule* best = nullptr;
  for (const ChecksumRule& rule : checksums) {
    if (IsAtOrBelow(path, rule.prefix) && (!best || rule.prefix.size() > best->prefix.size())) best = &rule;
  }
  return best ? best->digests : DigestOptions{};
}

std::string Configuration::ScratchDirectory() const {
  if (!scratch.empty()) return scratch;
  std::error_code none;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(none);
  return ((none ? "/tmp" : temporary) / fmt::format("xec-scratch-{}", getuid())).string();
}

size_t Configuration::ArchivesMin(const Geometry& geometry) const {
  return geometry.data_chunks + std::min(redundancy_min.value_or(1), geometry.parity_chunks);
}

Status CheckBudget(const Geometry& geometry, uint64_t memory_bytes) {
  // What a writer leases for a full stripe: chunks, each with its header, on page borders.
  const uint64_t chunk =
      geometry.chunk_size_bytes + LocalHeaderSizeMax(geometry) + 3 * uint64_t{kBufferAlignment};
  const uint64_t stripe = geometry.Total() * chunk;
  if (stripe <= memory_bytes) return OkStatus();
  return Fail(Code::kInvalidArgument,
              "a stripe of {} with chunks of {} needs {} of memory, more than the budget of {}: "
              "choose a smaller chunk size or more memory",
              geometry.ToString(), FormatSize(geometry.chunk_size_bytes), FormatSize(stripe),
              FormatSize(memory_bytes));
}

Status CheckListed(const Configuration& c) {
  const size_t listed = c.data.size() + c.servers.size();
  if (listed == 0 || !c.origin.empty()) return OkStatus();  // a redirector may know more
  std::vector<PathRule> rules = c.RulesOver(Geometry{});
  rules.push_back({"/", c.GeometryOver(Geometry{})});
  for (const PathRule& rule : rules) {
    if (rule.geometry.Total() <= listed) continue;
    return Fail(Code::kInvalidArgument, "geometry {} needs {} data servers, only {} are listed",
                rule.geometry.ToString(), rule.geometry.Total(), listed);
  }
  return OkStatus();
}

Status ValidateConfiguration(const Configuration& c) {
  if (!c.data.empty() && (!c.servers.empty() || !c.origin.empty())) {
    return Fail(Code::kInvalidArgument,
                "a store lies on directories (data) or on servers (server, origin), not on both");
  }
  if (!c.origin.empty()) XEC_TRY(NormalizeOrigin(c.origin));
  const size_t listed = c.data.size() + c.servers.size();
  if (listed > kMembersOfStoreMax) {
    return Fail(Code::kInvalidArgument, "{} data servers are more than the {} a store may have", listed,
                kMembersOfStoreMax);
  }
  std::vector<PathRule> rules = c.RulesOver(Geometry{});
  if (c.chunks || c.chunk_size_bytes) rules.push_back({"/", c.GeometryOver(Geometry{})});
  for (const PathRule& rule : rules) {
    XEC_TRY(rule.geometry.Validate());
    XEC_TRY(CheckBudget(rule.geometry, c.engine.memory_bytes));
  }
  if (c.http_port && *c.http_port == c.port) {
    return Fail(Code::kInvalidArgument,
                "http-port {} is the port of the gateway already, which speaks http too", c.port);
  }
  if (c.engine.operation_limit * 2 > c.engine.tombstone_horizon) {
    return Fail(Code::kInvalidArgument, "operation-limit must be at most half of tombstone-horizon");
  }
  // What one process allows itself, all others on the store count on: those with the defaults, and a change
  // of the members.
  const auto at_most = [](const char* name, Duration value, Duration limit) {
    if (value <= limit) return OkStatus();
    return Status(Fail(Code::kInvalidArgument, "{} must be at most {}s", name,
                       std::chrono::duration_cast<std::chrono::seconds>(limit).count()));
  };
  XEC_TRY(at_most("operation-limit", c.engine.operation_limit, EngineOptions().operation_limit));
  return at_most("descriptor-interval", c.engine.descriptor_interval, EngineOptions().descriptor_interval);
}

}  // namespace xec
