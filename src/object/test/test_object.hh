// SPDX-License-Identifier: LGPL-3.0-or-later
// Real objects in a TestWorld, for tests of this folder that need its virtual time.
#pragma once

#include <memory>
#include <string_view>

#include "commit/test/test_world.hh"
#include "object/read/object_reader.hh"
#include "object/write/object_writer.hh"

namespace xec {

inline void PutObject(TestWorld& world, Engine& engine, const ObjectPath& path, std::string_view bytes) {
  auto writer = world.Run(ObjectWriter::Start(engine, path, {}));
  XEC_CHECK(writer.has_value());
  XEC_CHECK(world.Run((*writer)->Append(AsBytes(bytes))).has_value());
  XEC_CHECK(world.Run((*writer)->Commit()).has_value());
  writer->reset();
  world.Pass(std::chrono::seconds(1));
}

inline std::shared_ptr<ObjectReader> OpenObject(TestWorld& world, Engine& engine, const ObjectPath& path) {
  Result<NameInfo> info = world.Run(LookUpLive(engine, path));
  XEC_CHECK(info.has_value());
  auto reader = world.Run(ObjectReader::Open(engine, std::move(*info)));
  XEC_CHECK(reader.has_value());
  return *reader;
}

// By lane.
inline std::vector<MemberIndex> HoldersOf(TestWorld& world, Engine& engine, ObjectReader& reader) {
  std::vector<MemberIndex> holders;
  const auto manifest = world.Run(reader.GetManifest());
  for (const std::string& id : manifest->servers) holders.push_back(*engine.FindMember(id));
  return holders;
}

}  // namespace xec
