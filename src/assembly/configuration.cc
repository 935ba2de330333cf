// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/configuration.hh"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_format.hh"
#include "assembly/options.hh"
#include "assembly/server_kinds.hh"
#include "base/text.hh"
#include "server/local_root.hh"

namespace xec {
namespace {

constexpr std::string_view kDirectivePrefix = "xec.";

std::string_view FirstWord(std::string_view line) {
  return line.substr(0, std::min(line.find_first_of(" \t"), line.size()));
}

// One line of the file. `depth` counts the if blocks of xrootd that are open.
Status ParseLine(std::string_view line, size_t number, int& depth, Configuration& configuration) {
  if (line.size() > kConfigurationLineMax) {
    return Fail(Code::kInvalidArgument, "the line is longer than {} bytes", kConfigurationLineMax);
  }
  line = Trim(line);
  if (line.empty() || line[0] == '#') return OkStatus();
  const std::string_view word = FirstWord(line);
  if (word == "if") ++depth;
  if (word == "fi") --depth;
  if (!word.starts_with(kDirectivePrefix)) return OkStatus();
  const auto in_line = [&](const Error& error) { return Fail(error.code, "{}: {}", word, error.message); };
  if (line.find('\0') != std::string_view::npos)
    return Fail(Code::kInvalidArgument, "the line has a zero byte");
  if (depth > 0)
    return in_line(Fail(Code::kInvalidArgument, "xec directives cannot stand between if and fi"));
  const Status set = SetOption(configuration, word.substr(kDirectivePrefix.size()), line.substr(word.size()),
                               fmt::format("line {}", number));
  return set ? OkStatus() : Status(in_line(set.error()));
}

}  // namespace

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

size_t Configuration::ArchivesMin(const Geometry& geometry) const {
  return geometry.data_chunks + std::min(redundancy_min.value_or(1), geometry.parity_chunks);
}

Result<Configuration> ParseConfiguration(std::string_view text, std::string_view name) {
  if (text.size() > kConfigurationBytesMax) {
    return Fail(Code::kInvalidArgument, "{}: the file is larger than {}", name,
                FormatSize(kConfigurationBytesMax));
  }
  Configuration configuration;
  int depth = 0;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const Status parsed = ParseLine(line, number, depth, configuration);
    if (!parsed) return Fail(parsed.code(), "{}:{}: {}", name, number, parsed.error().message);
  }
  const Status valid = ValidateConfiguration(configuration);
  if (!valid) return Fail(valid.code(), "{}: {}", name, valid.error().message);
  return configuration;
}

Result<Configuration> ParseConfigurationFile(const std::string& path) {
  const auto cannot_be_read = [&path](int error) {
    return Fail(CodeOfErrno(error), "the configuration file {} cannot be read: {}", path, ErrnoWords(error));
  };
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return cannot_be_read(errno);
  std::string text(kConfigurationBytesMax + 1, '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = read(file.get(), text.data() + got, text.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_be_read(errno);
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  text.resize(got);
  return ParseConfiguration(text, path);
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
