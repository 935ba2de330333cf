// SPDX-License-Identifier: LGPL-3.0-or-later
// One version of one object in a TestWorld, for tests of the classes that a reader is made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "object/archives/archive_places.hh"
#include "object/archives/stray_lanes.hh"
#include "object/test/test_object.hh"

namespace xec {

// ArchivePlaces that counts the servers asked, and tells of other places, and of spares, when the test wants
// it.
class TestPlaces : public ArchivePlaces {
 public:
  using ArchivePlaces::ArchivePlaces;

  Task<Result<FoundArchive>> Find(MemberIndex server) override {
    ++finds;
    return ArchivePlaces::Find(server);
  }
  Task<Result<FoundArchive>> FindOnSpare(MemberIndex server) override {
    ++finds;
    return ArchivePlaces::FindOnSpare(server);
  }
  std::vector<MemberIndex> Spares(const Manifest& manifest) const override {
    return hide_spares ? std::vector<MemberIndex>{} : ArchivePlaces::Spares(manifest);
  }
  std::vector<MemberIndex> SparesFirst(const Manifest& manifest) const override {
    return hide_spares ? std::vector<MemberIndex>{} : ArchivePlaces::SparesFirst(manifest);
  }
  uint64_t changes() const override { return ArchivePlaces::changes() + more_changes; }

  int finds = 0;
  uint64_t more_changes = 0;
  bool hide_spares = false;
};

// /o, with 3+2 archives on 8 servers, as one reader sees it.
struct TestVersion {
  TestVersion() {
    PutObject(world, engine, path, std::string(600'000, 'x'));
    named = HoldersOf(world, engine, *OpenObject(world, engine, path));
    for (MemberIndex server = 0; server < world.memory.size(); ++server) {
      if (!Contains(named, server)) spares.push_back(server);
    }
    LookNow();
  }

  // From now on this is a reader that has opened it now.
  void LookNow() {
    Result<NameInfo> info = world.Run(LookUpLive(engine, path));
    XEC_CHECK(info.has_value());
    version = std::make_shared<const OpenVersion>(
        OpenVersion{.engine = engine, .info = std::move(*info), .damage = damage});
    places = std::make_shared<TestPlaces>(version);
    archives = std::make_shared<OpenArchives>(version, places);
    strays = std::make_shared<StrayLanes>(version, places, archives);
  }

  Result<LoadedArchive> Load(MemberIndex server) { return world.Run(archives->Load(server)); }

  // The archive of the object on that server; "" when there is none.
  std::string ArchiveOn(MemberIndex server) const {
    for (const auto& [file, bytes] : world.memory[server]->Files()) {
      if (file.starts_with(path.ObjectDirectory() + "/")) return file;
    }
    return "";
  }
  void RemoveFrom(MemberIndex server) {
    XEC_CHECK(world.Run(Remove(engine.MetadataCall(), engine.server(server), ArchiveOn(server))).has_value());
  }
  void CopyTo(MemberIndex from, MemberIndex to) {
    const std::string file = ArchiveOn(from);
    std::string content = *world.memory[from]->Content(file);
    XEC_CHECK(world.Run(CreateFile(engine.MetadataCall(), engine.server(to), file, std::move(content), true))
                  .has_value());
  }

  TestWorld world{TestWorldOptions{.servers = 8, .tolerance = 2}};
  TestWorld::Gateway& gateway = world.NewGateway();
  Engine& engine = *gateway.engine;
  const ObjectPath path = TestWorld::Path("/o");
  std::vector<MemberIndex> named;  // by lane
  std::vector<MemberIndex> spares;  // servers without an archive
  std::shared_ptr<RepairQueue> damage = std::make_shared<RepairQueue>();
  OpenVersionPtr version;
  std::shared_ptr<TestPlaces> places;
  std::shared_ptr<OpenArchives> archives;
  std::shared_ptr<StrayLanes> strays;
};

}  // namespace xec
