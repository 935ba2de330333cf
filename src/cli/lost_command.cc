// SPDX-License-Identifier: LGPL-3.0-or-later
// xec lost: which objects a server or one of its disks holds a part of, from the gateway's inventory or by a
// walk through the store.
#include <chrono>
#include <fstream>
#include <map>
#include <set>

#include "cli/commands.hh"
#include "cli/lost_report.hh"
#include "cli/serve_setup.hh"
#include "cli/terminal.hh"
#include "inventory/inventory_reader.hh"
#include "inventory/lost_links.hh"
#include "runtime/sync_wait.hh"

namespace xec {
namespace {

// Archives of a lost disk that are remembered while their objects are looked for.
constexpr size_t kLostArchivesMax = 10'000'000;

constexpr const char* kSayWhat =
    "say what is lost: --server SERVER, or --disk PATH --namespace DIR on a data server; see xec lost --help";

// What a disk has lost, by object.
struct LostDisk {
  LostLinks links;
  std::multimap<std::string, State> archives;
};

bool OfDisk(const CommandLine& line) { return !line.disk.empty() || !line.name_space.empty(); }

Status CheckUse(const CommandLine& line) {
  if (line.json && line.names_only)
    return Fail(Code::kInvalidArgument, "--json and --names-only exclude each other");
  if (!line.disk.empty() && line.name_space.empty())
    return Fail(Code::kInvalidArgument, "--disk: say with --namespace where the names of its server are");
  if (!line.disk.empty() && line.disk[0] != '/')
    return Fail(Code::kInvalidArgument, "--disk: '{}' is no absolute path", line.disk);
  if (!OfDisk(line) && line.lost_servers.empty()) return Fail(Code::kInvalidArgument, "{}", kSayWhat);
  if (OfDisk(line) && line.lost_servers.size() > 1)
    return Fail(Code::kInvalidArgument, "--namespace is of one server: say --server once");
  return OkStatus();
}

// Nothing where no disk is meant.
Result<std::optional<LostDisk>> LookForLinks(const CommandLine& line) {
  if (!OfDisk(line)) return std::optional<LostDisk>();
  LostDisk disk;
  bool too_many = false;
  const auto found = [&](LostFile file) {
    too_many = disk.archives.size() >= kLostArchivesMax;
    if (!too_many) disk.archives.emplace(std::move(file.path), std::move(file.state));
  };
  XEC_ASSIGN_OR_RETURN(disk.links, FindLostLinks(line.name_space, line.disk, found));
  if (too_many)
    return Fail(Code::kUnsupported, "more than {} archives are lost: ask with --server", kLostArchivesMax);
  return std::optional(std::move(disk));
}

// Which members are meant: as the user says, or as the server's own file does.
Result<std::vector<std::string>> ServersMeant(const CommandLine& line) {
  if (!line.lost_servers.empty()) return line.lost_servers;
  std::ifstream file(line.name_space + std::string(kIdentityPath));
  std::string text(kDescriptorBytesMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  const Result<Identity> identity = ParseIdentity(text);
  if (identity) return std::vector<std::string>{identity->member_id};
  return Fail(Code::kInvalidArgument,
              "which member this server is cannot be read in {}{}: say it with --server, or see xec health",
              line.name_space, kIdentityPath);
}

Error NoMember(const std::string& said) {
  return Fail(Code::kInvalidArgument, "--server: {} is no member of the store (see xec health)", said);
}

// Looks at one object after the other.
class LossFinder {
 public:
  // `disk`: what is lost of the one server, or null if all is of all of them.
  LossFinder(std::set<MemberIndex> servers, LostDisk* disk) : servers_(std::move(servers)), disk_(disk) {}

  std::optional<ObjectLoss> Look(const ObjectPlaces& object) {
    if (disk_ != nullptr && !TakeFromDisk(object)) return std::nullopt;
    return LossOf(object, [&](const LaneRun& run) { return servers_.contains(run.server); });
  }

  // Archives of the disk that no object had. One of an object without bytes has nothing to lose.
  void TellRest(LostReport& report) const {
    if (disk_ == nullptr) return;
    for (const auto& [path, state] : disk_->archives) {
      if (state.size > 0) report.AddUnknown({path, state});
    }
  }

 private:
  bool TakeFromDisk(const ObjectPlaces& object) {
    auto [archive, end] = disk_->archives.equal_range(object.path);
    for (; archive != end; ++archive) {
      if (archive->second.version != object.version) continue;
      disk_->archives.erase(archive);
      return true;
    }
    return false;
  }

  const std::set<MemberIndex> servers_;
  LostDisk* const disk_;
};

Result<InventoryReader> OpenInventory(const CommandLine& line, const std::string& file) {
  constexpr const char* kElse = "`xec lost --walk` asks all servers instead, which takes a while";
  if (file.empty())
    return Fail(Code::kNotFound, "this gateway keeps no inventory (xec.inventory off); {}", kElse);
  Result<InventoryReader> reader = InventoryReader::Open(file);
  if (reader) return reader;
  return Fail(
      reader.code() == Code::kCorruption ? Code::kNotFound : reader.code(),
      "there is no inventory to ask: {}{}. A gateway fills one where its directive xec.inventory says; {}",
      reader.error().message,
      line.configuration_file.empty() ? " (say -c FILE of the gateway, or --inventory FILE)" : "", kElse);
}

Result<MemberIndex> FindServer(const InventoryAbout& about, const std::string& said) {
  for (const InventoryAbout::Server& server : about.servers) {
    if (server.id == said || server.address == said) return server.number;
  }
  return NoMember(said);
}

Result<MemberIndex> FindServer(const StoreMaintenance& store, const std::string& said) {
  const std::vector<Member>& members = store.descriptor().members;
  for (size_t i = 0; i < members.size(); ++i) {
    const auto member = static_cast<MemberIndex>(i);
    if (members[i].id == said || members[i].address == said || store.AddressOf(member) == said) return member;
  }
  return NoMember(said);
}

// A store that can tell which member is meant: about an inventory, or StoreMaintenance.
template <typename Known>
Result<std::set<MemberIndex>> FindServers(const Known& known, const CommandLine& line) {
  XEC_ASSIGN_OR_RETURN(const std::vector<std::string> meant, ServersMeant(line));
  std::set<MemberIndex> servers;
  for (const std::string& said : meant) {
    XEC_ASSIGN_OR_RETURN(const MemberIndex server, FindServer(known, said));
    servers.insert(server);
  }
  return servers;
}

// Looks at the object of each archive that is lost.
Status LookForAll(InventoryReader& reader, const LostDisk& disk,
                  const std::function<bool(const ObjectPlaces&)>& look) {
  std::set<std::string> names;
  for (const auto& [path, state] : disk.archives) names.insert(path);
  for (const std::string& name : names) {
    XEC_ASSIGN_OR_RETURN(const std::optional<ObjectPlaces> object, reader.Find(name));
    if (object) look(*object);
  }
  return OkStatus();
}

// Without an inventory the names of a disk's archives still say which objects they are of.
int TellLinksOnly(const CommandLine& line, LostDisk& disk) {
  LostReport report(line);
  LossFinder({}, &disk).TellRest(report);
  return report.Finish(nullptr, &disk.links);
}

}  // namespace

Result<int> RunLost(const CommandLine& line) {
  XEC_TRY(CheckUse(line));
  XEC_ASSIGN_OR_RETURN(std::optional<LostDisk> disk, LookForLinks(line));
  const std::string file = InventoryFile(line.configuration);
  Result<InventoryReader> reader = OpenInventory(line, file);
  if (!reader && disk) {
    if (!line.quiet) fmt::print(stderr, "xec: {}\n", reader.error().message);
    return TellLinksOnly(line, *disk);
  }
  if (!reader) return reader.error();
  XEC_ASSIGN_OR_RETURN(const std::set<MemberIndex> servers, FindServers(reader->about(), line));
  LostReport report(line);
  LossFinder finder(servers, disk ? &*disk : nullptr);
  const auto look = [&](const ObjectPlaces& object) {
    if (const std::optional<ObjectLoss> loss = finder.Look(object)) report.Add(object, *loss);
    return true;
  };
  XEC_TRY(disk ? LookForAll(*reader, *disk, look) : reader->ForEachOn(servers, look));
  finder.TellRest(report);
  const LostSource source{file, reader->about(), WallNow()};
  return report.Finish(&source, disk ? &disk->links : nullptr);
}

Result<int> RunLostByWalk(const CommandLine& line, OpenedStore& store) {
  XEC_TRY(CheckUse(line));
  XEC_ASSIGN_OR_RETURN(std::optional<LostDisk> disk, LookForLinks(line));
  XEC_ASSIGN_OR_RETURN(StoreMaintenance* const maintenance, store.maintenance());
  XEC_ASSIGN_OR_RETURN(const std::set<MemberIndex> servers, FindServers(*maintenance, line));
  LostReport report(line);
  LossFinder finder(servers, disk ? &*disk : nullptr);
  StatusLine status(line.quiet || line.json);
  uint64_t looked = 0;
  PlacesOptions options;
  options.object = [&](const ObjectPlaces& object) {
    if (const std::optional<ObjectLoss> loss = finder.Look(object)) {
      status.Wipe();
      report.Add(object, *loss);
    }
    ++looked;
    status.Show([&] { return fmt::format("{} objects looked at, at {}", looked, object.path); });
    return !Interrupted();
  };
  options.unknown = [&](const std::string& path, bool, const Error& error) {
    status.Wipe();
    report.AddUnlooked(path, error);
    return !Interrupted();
  };
  const Status walked = SyncWait(maintenance->WalkPlaces(std::move(options)));
  status.Wipe();
  if (!walked && Interrupted()) return kExitInterrupted;
  if (!walked) return walked.error();
  finder.TellRest(report);
  const LostSource source{"", {}, WallNow()};
  return report.Finish(&source, disk ? &disk->links : nullptr);
}

}  // namespace xec
