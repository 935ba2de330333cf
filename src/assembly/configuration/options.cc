// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/configuration/options.hh"

#include <algorithm>
#include <array>
#include <limits>

#include "assembly/configuration/group_option.hh"
#include "assembly/configuration/limit_options.hh"
#include "assembly/configuration/option_values.hh"
#include "assembly/servers/server_kinds.hh"
#include "base/text.hh"

namespace xec {
namespace {

using Values = std::vector<std::string>;
using C = Configuration;

// Sites.

constexpr std::string_view kHostLabel = ",host=";

std::string FormatSite(const Site& site) {
  return site.host.empty() ? site.address : site.address + std::string(kHostLabel) + site.host;
}

Values FormatSites(const std::vector<Site>& sites) {
  Values values;
  for (const Site& site : sites) values.push_back(FormatSite(site));
  return values;
}

Status SetData(C& c, std::string_view value) {
  XEC_ASSIGN_OR_RETURN(Site site, ParseSite(value));
  const ServerKind& kind = KindOf(site.address);
  if (!kind.local)
    return Fail(Code::kInvalidArgument, "'{}' is a server, not a directory: give it as server", value);
  XEC_ASSIGN_OR_RETURN(site.address, kind.normalize(site.address));
  for (const Site& other : c.data) {
    if (other.address == site.address) {
      return Fail(Code::kInvalidArgument, "the directory {} is given twice", site.address);
    }
  }
  c.data.push_back(std::move(site));
  return OkStatus();
}

Status SetServer(C& c, std::string_view value) {
  XEC_ASSIGN_OR_RETURN(Site site, ParseSite(value));
  XEC_ASSIGN_OR_RETURN(site.address, NormalizeServerAddress(site.address));
  for (const Site& other : c.servers) {
    if (other.address == site.address)
      return Fail(Code::kInvalidArgument, "the server {} is given twice", site.address);
  }
  c.servers.push_back(std::move(site));
  return OkStatus();
}

// Values.

Result<uint64_t> ParseChunkSize(std::string_view value) {
  XEC_ASSIGN_OR_RETURN(uint64_t bytes, ParseSize(value));
  if (bytes < kChunkSizeMin || bytes > kChunkSizeMax || bytes % kChunkSizeUnit != 0) {
    return Fail(Code::kInvalidArgument, "'{}' is no chunk size: a multiple of 4KiB from 4KiB to 64MiB",
                value);
  }
  return bytes;
}

Result<uint16_t> ParsePort(std::string_view value) {
  const auto number = ParseUint(value);
  if (number && *number >= 1 && *number <= 65535) return static_cast<uint16_t>(*number);
  return Fail(Code::kInvalidArgument, "'{}' is no port: a number from 1 to 65535", value);
}

// Path rules.

Status SetRule(C& c, std::string_view value) {
  const std::vector<std::string_view> words = Words(value);
  if (words.size() < 2 || words.size() > 3) {
    return Fail(Code::kInvalidArgument, "'{}' is no path rule: PATH K+M [CHUNK-SIZE]", value);
  }
  GeometryRule rule;
  XEC_ASSIGN_OR_RETURN(rule.prefix, ParsePrefix(words[0]));
  XEC_ASSIGN_OR_RETURN(rule.chunks, Geometry::Parse(words[1]));
  if (words.size() == 3) {
    XEC_ASSIGN_OR_RETURN(rule.chunk_size_bytes, ParseChunkSize(words[2]));
  }
  for (const GeometryRule& other : c.rules) {
    if (other.prefix == rule.prefix) return Fail(Code::kInvalidArgument, "a second rule for {}", rule.prefix);
  }
  if (c.rules.size() >= kPathRulesMax)
    return Fail(Code::kInvalidArgument, "more than {} path rules", kPathRulesMax);
  c.rules.push_back(std::move(rule));
  return OkStatus();
}

Values GetRules(const C& c) {
  Values values;
  for (const GeometryRule& rule : c.rules) {
    std::string text = fmt::format("{} {}", FormatPrefix(rule.prefix), rule.chunks.ToString());
    if (rule.chunk_size_bytes) text += " " + FormatBytes(*rule.chunk_size_bytes);
    values.push_back(std::move(text));
  }
  return values;
}

// A file, or none.
template <std::string C::* member>
Status SetFile(C& c, std::string_view value) {
  if (value != kNoFile && !value.starts_with('/'))
    return Fail(Code::kInvalidArgument, "'{}' is neither an absolute path nor {}", value, kNoFile);
  c.*member = value;
  return OkStatus();
}

Status SetChecksums(C& c, std::string_view value) {
  const std::vector<std::string_view> words = Words(value);
  if (words.size() != 2)
    return Fail(Code::kInvalidArgument, "'{}' is no checksum rule: PATH NAME[,NAME...]", value);
  ChecksumRule rule;
  XEC_ASSIGN_OR_RETURN(rule.prefix, ParsePrefix(words[0]));
  XEC_ASSIGN_OR_RETURN(rule.digests, DigestOptions::Parse(words[1]));
  for (const ChecksumRule& other : c.checksums) {
    if (other.prefix == rule.prefix)
      return Fail(Code::kInvalidArgument, "a second checksum rule for {}", rule.prefix);
  }
  if (c.checksums.size() >= kPathRulesMax) {
    return Fail(Code::kInvalidArgument, "more than {} checksum rules", kPathRulesMax);
  }
  c.checksums.push_back(std::move(rule));
  return OkStatus();
}

std::string FormatDigests(const DigestOptions& digests) {
  std::string text = "adler32";
  if (digests.md5) text += ",md5";
  if (digests.sha1) text += ",sha1";
  if (digests.sha256) text += ",sha256";
  if (digests.sha512) text += ",sha512";
  if (digests.crc32) text += ",crc32";
  if (digests.zcrc32) text += ",zcrc32";
  return text;
}

Values GetChecksums(const C& c) {
  Values values;
  for (const ChecksumRule& rule : c.checksums) {
    values.push_back(FormatPrefix(rule.prefix) + " " + FormatDigests(rule.digests));
  }
  return values;
}

// Rows of one kind.

template <std::string C::* member>
Status SetText(C& c, std::string_view value) {
  c.*member = value;
  return OkStatus();
}

template <std::string C::* member>
Values GetText(const C& c) {
  if (c.*member == C().*member) return {};
  return {c.*member};
}

std::vector<OptionRow> SiteRows() {
  using enum OptionGroup;
  return {
      {"data", "DIR[,host=NAME]", "",
       "A directory that holds archives; directories with the same host name fail together.", kStore, true,
       SetData, [](const C& c) { return FormatSites(c.data); }},
      {"server", "root://HOST:PORT[,host=NAME]", "", "A vanilla XRootD data server that holds archives.",
       kStore, true, SetServer, [](const C& c) { return FormatSites(c.servers); }},
      {"origin", "root://HOST:PORT", "",
       "The redirector of a vanilla XRootD cluster whose data servers hold the archives.", kStore, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.origin, NormalizeOrigin(value));
         return OkStatus();
       },
       GetText<&C::origin>},
  };
}

std::vector<OptionRow> GeometryRows() {
  using enum OptionGroup;
  return {
      {"geometry", "K+M", "8+2, or what the store was made with",
       "Data and parity chunks of a stripe: any M of the K+M servers of an object may be lost.", kStore,
       false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.chunks, Geometry::Parse(value));
         return OkStatus();
       },
       [](const C& c) { return c.chunks ? Values{c.chunks->ToString()} : Values{}; }},
      {"chunk-size", "SIZE", "1MiB, or what the store was made with",
       "Size of a chunk: a multiple of 4KiB from 4KiB to 64MiB.", kStore, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.chunk_size_bytes, ParseChunkSize(value));
         return OkStatus();
       },
       [](const C& c) { return c.chunk_size_bytes ? Values{FormatBytes(*c.chunk_size_bytes)} : Values{}; }},
      {"rule", "PATH K+M [SIZE]", "",
       "Objects below PATH get this geometry and chunk size; the longest PATH wins. Blanks in PATH are "
       "written %20.",
       kStore, true, SetRule, GetRules},
      {"group", "NAME PATH [QUOTA]", "",
       "Objects below PATH are counted as the group NAME, and together may have QUOTA bytes; the longest "
       "PATH "
       "wins. The same lines on all gateways (docs/space.md).",
       kStore, true, SetGroup, GetGroups},
  };
}

std::vector<OptionRow> PolicyRows() {
  using enum OptionGroup;
  return {
      {"layout", "native|xrdec", "native, or what the store was made with",
       "How objects lie on the servers; xrdec is readable by stock XrdEc clients and write-once.", kStore,
       false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.layout, ParseLayout(value));
         return OkStatus();
       },
       [](const C& c) { return c.layout ? Values{LayoutName(*c.layout)} : Values{}; }},
      {"sync", "commit|none", "commit, or what the store was made with",
       "commit: archives are on stable storage before an object becomes visible. none: a power cut may lose "
       "the newest objects.",
       kStore, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.sync, ParseSyncPolicy(value));
         return OkStatus();
       },
       [](const C& c) { return c.sync ? Values{SyncPolicyName(*c.sync)} : Values{}; }},
      {"checksums", "PATH NAME[,NAME...]", "",
       "Objects below PATH get these checksums (md5, sha1, sha256, sha512, crc32, zcrc32) as they are "
       "written, "
       "besides adler32 and crc32c, which all have. Of others a gateway computes those that are asked for, "
       "once.",
       kStore, true, SetChecksums, GetChecksums},
      {"min-redundancy", "N", "1",
       "An upload has all its archives as long as servers are left to take them. With too few servers it "
       "succeeds when at least N (1 to 31; M at most) of its M parity archives are there; the others become "
       "a debt.",
       kStore, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(uint64_t count, ParseCount(value, 1, kChunksMax - 1));
         c.redundancy_min = static_cast<uint32_t>(count);
         return OkStatus();
       },
       [](const C& c) { return c.redundancy_min ? Values{fmt::format("{}", *c.redundancy_min)} : Values{}; }},
  };
}

std::vector<OptionRow> PortRows() {
  using enum OptionGroup;
  return {
      {"port", "PORT", "1094", "Where the gateway answers root:// and http://.", kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.port, ParsePort(value));
         return OkStatus();
       },
       [](const C& c) { return c.port == C().port ? Values{} : Values{fmt::format("{}", c.port)}; }},
      {"http-port", "PORT", "", "A second port, for http:// only.", kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.http_port, ParsePort(value));
         return OkStatus();
       },
       [](const C& c) { return c.http_port ? Values{fmt::format("{}", *c.http_port)} : Values{}; }},
      {"state", "DIR", "/var/lib/xec as root, else xec in $XDG_STATE_HOME or ~/.local/state",
       "Where gateways keep their generated configuration, their log and their sockets: each in gateway-PORT "
       "below it.",
       kGateway, false, SetText<&C::state_directory>, GetText<&C::state_directory>},
      {"export", "PATH", "/", "The directory of the store that the gateway offers.", kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.export_path, ParsePrefix(value));
         return OkStatus();
       },
       [](const C& c) { return c.export_path == "/" ? Values{} : Values{FormatPrefix(c.export_path)}; }},
      {"banned", "FILE", "",
       "Clients that may do nothing, whatever else admits them: lines `dn NAME`, `name NAME`, `vo NAME`, "
       "`host "
       "NAME` and `subject NAME`, the last one of a token. Read again when it changes.",
       kGateway, false, SetText<&C::banned>, GetText<&C::banned>},
  };
}

std::vector<OptionRow> ProcessRows() {
  using enum OptionGroup;
  return {
      {"user", "NAME", "xrootd if there is such a user, else nobody or daemon",
       "The user that a gateway started by root becomes; xrootd does not run as root.", kGateway, false,
       SetText<&C::user>, GetText<&C::user>},
      {"xrootd", "PROGRAM", "that of the XRootD that XEC was built for", "The stock xrootd to run.", kGateway,
       false, SetText<&C::xrootd>, GetText<&C::xrootd>},
      {"clean-interval", "TIME", "60s",
       "Pause between two passes of the gateway's cleaner, which removes what interrupted work left."
       " Four times as long as a pass took, if that is more, but 10 minutes at most.",
       kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(std::chrono::milliseconds time, ParseDuration(value));
         if (time.count() == 0)
           return Fail(Code::kInvalidArgument, "'{}' is no time: it must be more than 0", value);
         c.clean_interval = time;
         return OkStatus();
       },
       [](const C& c) {
         return c.clean_interval == C().clean_interval ? Values{} : Values{FormatTime(c.clean_interval)};
       }},
      {"clean-rate", "N", "0",
       "Names that the gateway's cleaner visits in a second, at most; 0: as many as it can.", kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.clean_rate, ParseCount(value, 0, 1'000'000));
         return OkStatus();
       },
       [](const C& c) { return c.clean_rate == 0 ? Values{} : Values{fmt::format("{}", c.clean_rate)}; }},
  };
}

std::vector<OptionRow> BackgroundRows() {
  using enum OptionGroup;
  return {
      {"rebuild-after", "TIME", "1h",
       "A gateway writes anew on others what a data server holds that has been away for so long, unless more "
       "are away than may be, and removes what is there twice when it is back; 0: never, nor does it empty "
       "servers that are drained.",
       kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(std::chrono::milliseconds time, ParseDuration(value));
         c.rebuild_after = time;
         return OkStatus();
       },
       [](const C& c) {
         return c.rebuild_after == C().rebuild_after ? Values{} : Values{FormatTime(c.rebuild_after)};
       }},
      {"audit", "FILE|off", "audit.log in gateway-PORT below xec.state",
       "Where a gateway writes a line for each change and each refusal, with its caller.", kGateway, false,
       SetFile<&C::audit>, GetText<&C::audit>},
      {"scratch", "DIR", "scratch in gateway-PORT below xec.state",
       "A local directory for what clients have changed of open objects and not committed yet. A process "
       "that "
       "is no gateway takes one of its user below $TMPDIR or /tmp.",
       kGateway, false, SetText<&C::scratch>, GetText<&C::scratch>},
      {"scratch-size", "SIZE", "10GiB",
       "How much may lie there. Objects that are written from start to end need none of it.", kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.scratch_bytes, ParseSize(value));
         return OkStatus();
       },
       [](const C& c) {
         return c.scratch_bytes == C().scratch_bytes ? Values{} : Values{FormatBytes(c.scratch_bytes)};
       }},
      {"inventory", "FILE|off", "inventory.sqlite in gateway-PORT below xec.state",
       "The database in which a gateway keeps which server holds what, for `xec lost`. About 700 bytes an "
       "object "
       "with 8+2, 8 GiB at most.",
       kGateway, false, SetFile<&C::inventory>, GetText<&C::inventory>},
      {"inventory-interval", "TIME", "1h",
       "Longest pause between two walks through the store for it; four times as long as a walk took, if that "
       "is "
       "less, but a minute at least.",
       kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(std::chrono::milliseconds time, ParseDuration(value));
         if (time.count() == 0)
           return Fail(Code::kInvalidArgument, "'{}' is no time: it must be more than 0", value);
         c.inventory_interval = time;
         return OkStatus();
       },
       [](const C& c) {
         return c.inventory_interval == C().inventory_interval ? Values{}
                                                               : Values{FormatTime(c.inventory_interval)};
       }},
      {"inventory-rate", "N", "20",
       "Objects that such a walk looks at in a second, at most, each by some requests to each of its "
       "servers; "
       "0: "
       "as many as it can.",
       kGateway, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.inventory_rate, ParseCount(value, 0, 1'000'000));
         return OkStatus();
       },
       [](const C& c) {
         return c.inventory_rate == C().inventory_rate ? Values{}
                                                       : Values{fmt::format("{}", c.inventory_rate)};
       }},
  };
}

const std::vector<OptionRow>& Table() {
  static const std::vector<OptionRow> table = [] {
    std::vector<OptionRow> all;
    for (const auto rows :
         {SiteRows, GeometryRows, PolicyRows, PortRows, ProcessRows, BackgroundRows, LimitRows}) {
      for (const OptionRow& row : rows()) all.push_back(row);
    }
    return all;
  }();
  return table;
}

}  // namespace

std::span<const OptionRow> OptionTable() { return Table(); }

const OptionRow* FindOption(std::string_view name) {
  for (const OptionRow& row : Table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Result<Site> ParseSite(std::string_view text) {
  Site site;
  const size_t at = text.rfind(kHostLabel);
  site.address = text.substr(0, at);
  if (at != std::string_view::npos) {
    site.host = text.substr(at + kHostLabel.size());
    if (site.host.empty()) return Fail(Code::kInvalidArgument, "'{}' has an empty host label", text);
  }
  return site;
}

Status SetOption(Configuration& configuration, std::string_view name, std::string_view value,
                 std::string where) {
  const OptionRow* row = FindOption(name);
  if (!row) return Fail(Code::kInvalidArgument, "there is no such option");
  const std::string_view trimmed = Trim(value);
  if (trimmed.empty()) return Fail(Code::kInvalidArgument, "a value is missing: {}", row->argument);
  const auto before = configuration.given.find(name);
  if (before != configuration.given.end() && !row->repeats) {
    return Fail(Code::kInvalidArgument, "it was given already ({})", before->second);
  }
  XEC_TRY(row->set(configuration, trimmed));
  configuration.given.emplace(name, std::move(where));
  return OkStatus();
}

std::string FormatDirectives(const Configuration& configuration) {
  std::string text;
  for (const OptionRow& row : Table()) {
    for (const std::string& value : row.get(configuration))
      text += fmt::format("xec.{} {}\n", row.name, value);
  }
  return text;
}

}  // namespace xec
