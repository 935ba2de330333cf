// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/lost_report.hh"

#include "base/units.hh"
#include "cli/exit_code.hh"
#include "cli/terminal.hh"

namespace xec {
namespace {

std::string Row(std::string_view version, std::string_view size, std::string_view lanes,
                std::string_view stripes, std::string_view lost, std::string_view survives,
                std::string_view path) {
  return fmt::format("{:<27}{:>11}  {:<10}{:>9}{:>12}  {:<15}{}\n", version, size, lanes, stripes, lost,
                     survives, path);
}

std::string SurvivesText(const ObjectLoss& loss, const Geometry& geometry) {
  if (loss.BeyondRepair()) return "beyond repair";
  return fmt::format("{} of {}", loss.survives, geometry.parity_chunks);
}

std::string SourceText(const LostSource& source) {
  if (source.inventory.empty()) return "asked from all servers now";
  const InventoryAbout& about = source.about;
  std::string text = fmt::format("inventory {} of {} objects: ", source.inventory, about.objects);
  if (about.last) {
    text += fmt::format("{} old (a walk from {} to {} UTC)", FormatAge(source.now_ms - about.last->began_ms),
                        FormatTime(about.last->began_ms), FormatTime(about.last->ended_ms));
    if (about.last->unlisted + about.last->uncounted > 0) {
      text += fmt::format("; it could not list {} directories and not look at {} objects",
                          about.last->unlisted, about.last->uncounted);
    }
    text += "; what was changed since may not be in it";
  } else {
    text += "INCOMPLETE, no walk through the store has ended yet";
  }
  if (about.under_way) {
    text += fmt::format("; a walk began {} ago and has seen {} objects",
                        FormatAge(source.now_ms - about.under_way->began_ms), about.under_way->done);
  }
  return text;
}

Json WalkJson(const InventoryAbout::Walk& walk) {
  Json json = {{"began_ms", walk.began_ms},
               {"objects", walk.done},
               {"unlisted", walk.unlisted},
               {"uncounted", walk.uncounted}};
  if (walk.ended_ms != 0) json["ended_ms"] = walk.ended_ms;
  if (!walk.at.empty()) json["at"] = walk.at;
  return json;
}

Json SourceJson(const LostSource& source) {
  if (source.inventory.empty()) return {{"walk", true}};
  Json json = {{"inventory", source.inventory},
               {"store", source.about.store_id},
               {"objects", source.about.objects},
               {"complete", source.about.last.has_value()}};
  if (source.about.last) {
    json["age_s"] = (source.now_ms - source.about.last->began_ms) / 1000;
    json["last_walk"] = WalkJson(*source.about.last);
  }
  if (source.about.under_way) json["walk_under_way"] = WalkJson(*source.about.under_way);
  return json;
}

Json LinksJson(const LostLinks& links) {
  return {{"links", links.links},       {"into_disk", links.into_disk}, {"dangling", links.dangling},
          {"archives", links.archives}, {"uploads", links.uploads},     {"others", links.others},
          {"foreign", links.foreign},   {"identity", links.identity}};
}

std::string Dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

// Each at once: there may be millions.
void LostReport::Print(const Json& json, const std::string& row) {
  if (line_.json) {
    fmt::print("{}    {}", begun_ ? ",\n" : "{\n  \"objects\": [\n", Dumped(json, -1));
  } else if (line_.names_only) {
    fmt::print("{}\n", json["path"].get_ref<const std::string&>());
  } else {
    if (!begun_) fmt::print("{}", Row("version", "size", "lanes", "stripes", "lost", "survives", "object"));
    fmt::print("{}", row);
  }
  begun_ = true;
}

void LostReport::Add(const ObjectPlaces& object, const ObjectLoss& loss) {
  ++objects_;
  stripes_ += loss.stripes;
  bytes_ += loss.bytes;
  if (loss.BeyondRepair()) ++beyond_repair_;
  const std::string version = object.version.ToString();
  const Json json = {{"path", object.path},
                     {"version", version},
                     {"object_id", object.object_id},
                     {"bytes", object.bytes},
                     {"geometry", object.geometry.ToString()},
                     {"lanes", loss.lanes},
                     {"stripes", loss.stripes},
                     {"lost_bytes", loss.bytes},
                     {"survives", loss.survives},
                     {"beyond_repair", loss.BeyondRepair()}};
  Print(json, Row(version, FormatSize(object.bytes), fmt::format("{}", fmt::join(loss.lanes, ",")),
                  fmt::format("{}", loss.stripes), FormatSize(loss.bytes),
                  SurvivesText(loss, object.geometry), object.path));
}

void LostReport::AddUnknown(const LostFile& file) {
  ++unknown_;
  const std::string version = file.state.version ? file.state.version->ToString() : "";
  const Json json = {
      {"path", file.path}, {"version", version}, {"object_id", file.state.oid}, {"bytes", file.state.size}};
  Print(json, Row(version, FormatSize(file.state.size), "?", "?", "?", "?", file.path));
}

void LostReport::AddUnlooked(const std::string& path, const Error& error) {
  ++unlooked_;
  fmt::print(stderr, "xec: {}: {}\n", path, error.message);
}

Json LostReport::Totals(const LostSource* source, const LostLinks* links) const {
  Json json = {{"objects", objects_},
               {"unknown", unknown_},
               {"stripes", stripes_},
               {"bytes_to_rebuild", bytes_},
               {"beyond_repair", beyond_repair_},
               {"not_looked_at", unlooked_}};
  if (links != nullptr) json["name_space"] = LinksJson(*links);
  if (source != nullptr) json["source"] = SourceJson(*source);
  return json;
}

void LostReport::PrintTotals(const LostSource* source, const LostLinks* links) const {
  // Where names are piped on, what is about them goes to the terminal.
  FILE* const to = line_.names_only ? stderr : stdout;
  if (begun_ && !line_.names_only) fmt::print(to, "\n");
  if (links != nullptr) {
    fmt::print(
        to,
        "{} of {} links lead there and {} of them dangle: {} archives, {} of uploads that are not done, "
        "{} other files of XEC, {} foreign ones\n",
        links->into_disk, links->links, links->dangling, links->archives, links->uploads, links->others,
        links->foreign);
    if (links->identity)
      fmt::print(to, "the file .xec/server is among them: without it the server counts as another one\n");
  }
  if (unknown_ > 0) {
    fmt::print(to, "{} archives are of versions {}\n", unknown_,
               source == nullptr ? "of which nothing else is known: without an inventory, and without --walk"
                                 : "that are not among them: they are newer, or were replaced");
  }
  if (unlooked_ > 0)
    fmt::print(to, "{} objects or directories could not be looked at; what they lost is not counted\n",
               unlooked_);
  if (source == nullptr) return;
  fmt::print(to, "{}\n", SourceText(*source));
  fmt::print(to, "{} objects lost chunks in {} stripes: {} to rebuild; {} objects are beyond repair\n",
             objects_, stripes_, FormatSize(bytes_), beyond_repair_);
}

int LostReport::Finish(const LostSource* source, const LostLinks* links) {
  if (line_.json) {
    const std::string totals = Dumped(Totals(source, links), 2);
    // The document goes on with the fields of the totals, but for their brace.
    fmt::print("{}\n  ],\n  \"totals\": {}\n}}\n", begun_ ? "" : "{\n  \"objects\": [", totals);
  } else if (!(line_.names_only && line_.quiet)) {
    PrintTotals(source, links);
  }
  if (beyond_repair_ > 0) return kExitDamage;
  const bool whole = source != nullptr && (source->inventory.empty() || source->about.last);
  return whole && unlooked_ == 0 ? kExitOk : kExitRetry;
}

}  // namespace xec
