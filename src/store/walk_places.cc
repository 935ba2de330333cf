// SPDX-License-Identifier: LGPL-3.0-or-later
#include "store/walk_places.hh"

#include "object/layout.hh"
#include "store/object_walk.hh"

namespace xec {

Task<Result<ObjectPlaces>> FindPlaces(std::string path, std::shared_ptr<ObjectReader> reader) {
  const Result<Manifest> manifest = co_await reader->GetManifest();
  if (!manifest) co_return manifest.error();
  PlacesBuilder builder({.path = std::move(path),
                         .version = reader->version(),
                         .object_id = manifest->object_id,
                         .geometry = manifest->geometry,
                         .bytes = reader->size()});
  const uint32_t lanes = manifest->geometry.Total();
  const Status located = co_await reader->Locate(
      [&](const ChunkReport& chunk) { builder.Add(LaneOfChunk(chunk.stripe, chunk.chunk, lanes), chunk); });
  if (!located) co_return located.error();
  co_return builder.Take();
}

namespace {

Task<Result<ObjectPlaces>> FindIn(LayoutStore& store, std::string path) {
  Result<std::shared_ptr<ObjectReader>> reader = co_await store.OpenRead(path);
  if (!reader) co_return reader.error();
  Result<ObjectPlaces> places = co_await FindPlaces(std::move(path), std::move(*reader));
  co_return std::move(places);
}

}  // namespace

Task<Status> WalkPlaces(Engine& engine, LayoutStore& store, PlacesOptions options) {
  ObjectWalk<ObjectPlaces>::Plan plan;
  plan.from = std::move(options.from);
  plan.turn = std::move(options.turn);
  plan.ask = [&](std::string path) { return FindIn(store, std::move(path)); };
  plan.take = [&](const std::string& path, bool, Result<ObjectPlaces> places) {
    return places ? options.object(std::move(*places)) : options.unknown(path, false, places.error());
  };
  plan.unlisted = [&](const std::string& directory, const Error& error) {
    return options.unknown(directory, true, error);
  };
  ObjectWalk<ObjectPlaces> walk(engine, store, std::move(plan));
  Status walked = co_await walk.Run();
  co_return std::move(walked);
}

}  // namespace xec
