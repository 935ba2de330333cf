// SPDX-License-Identifier: LGPL-3.0-or-later
// What is read of an object that is open: all at once, or parts of it, one after the other, at the same time
// or as one vector; and whether it is what was written, byte for byte.
#include <algorithm>
#include <cstring>

#include "object/read/object_reader.hh"
#include "runtime/gather.hh"
#include "world.hh"

namespace xec::sim {
namespace {

constexpr size_t kPartsMax = 6;
// Read of every object, since its first bytes say whose content it is.
constexpr uint64_t kHeadBytes = sizeof(Content);
// Clients that do not know the size ask for so much more.
constexpr uint64_t kBehindTheEnd = 5000;

}  // namespace

// Anywhere up to the end, often at or beside a border of pages, chunks or stripes.
uint64_t World::PickOffset(uint64_t size) {
  const uint64_t anywhere = shape_random_.Below(size + 1);
  if (shape_random_.OneIn(2)) return anywhere;
  const Geometry& geometry = descriptor_.geometry;
  const uint64_t units[] = {geometry.PageSize(), geometry.chunk_size_bytes, geometry.StripeSize()};
  const uint64_t unit = units[shape_random_.Below(std::size(units))];
  const uint64_t beside = (anywhere + unit / 2) / unit * unit + shape_random_.Below(3);
  return std::min(size, beside - std::min<uint64_t>(beside, 1));
}

// Of an object of so many bytes; one of the parts has its head.
std::vector<World::Part> World::ChooseParts(uint64_t size) {
  std::vector<Part> parts;
  const auto add = [&](uint64_t offset, uint64_t length) { parts.push_back({offset, length, {}}); };
  const uint64_t how = at_rest_ ? 0 : shape_random_.Below(5);
  if (how < 2) {
    add(0, size);
  } else if (how < 4) {
    // From the front to the end, as who copies does.
    std::vector<uint64_t> cuts = {size + (shape_random_.OneIn(3) ? kBehindTheEnd : 0)};
    while (!shape_random_.OneIn(kPartsMax) && cuts.size() < kPartsMax)
      cuts.push_back(std::max(kHeadBytes, PickOffset(size)));
    std::sort(cuts.begin(), cuts.end());
    uint64_t from = 0;
    for (const uint64_t cut : cuts) {
      add(from, cut - from);
      from = cut;
    }
  } else {
    for (uint64_t left = 1 + shape_random_.Below(kPartsMax - 1); left > 0; --left) {
      const uint64_t one = PickOffset(size), other = PickOffset(size);
      const uint64_t some = 1 + shape_random_.Below(100);
      add(std::min(one, other), shape_random_.OneIn(4) ? some : std::max(one, other) - std::min(one, other));
    }
    const auto at = static_cast<ptrdiff_t>(shape_random_.Below(parts.size() + 1));
    parts.insert(parts.begin() + at, Part{0, kHeadBytes, {}});
  }
  return parts;
}

// The number of the content of which all parts are; kNothing: there is none.
Content World::ContentOf(const std::vector<Part>& parts, uint64_t size) const {
  const auto has_head = [](const Part& part) { return part.offset == 0 && part.bytes.size() >= kHeadBytes; };
  const auto head = std::find_if(parts.begin(), parts.end(), has_head);
  if (head == parts.end()) return kNothing;
  Content content = kNothing;
  std::memcpy(&content, head->bytes.data(), sizeof content);
  if (content >= next_content_ || size != SizeOf(content)) return kNothing;
  const std::string written = BytesOf(content);
  const bool same = std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    const std::string_view there = std::string_view(written).substr(std::min(part.offset, size), part.length);
    return part.bytes == there;
  });
  return same ? content : kNothing;
}

Task<void> World::Hold(Gateway* gateway, Duration how_long) {
  if (how_long <= Duration(0)) co_return;
  Gather<bool> pause(*gateway->scope, *gateway->process);
  pause.StartTimer(0, executor_.Now() + how_long);
  co_await pause.Next();
}

Task<Status> World::ReadPart(std::shared_ptr<ObjectReader> reader, Part* part) {
  part->bytes.assign(part->length, '?');
  const Result<uint64_t> got =
      co_await reader->Read(part->offset, std::as_writable_bytes(std::span(part->bytes)));
  if (!got) co_return got.error();
  XEC_CHECK(*got <= part->length, "more was read than there is room for");
  part->bytes.resize(*got);
  co_return OkStatus();
}

// All parts at once, as far as the object goes.
Task<Status> World::ReadAsVector(std::shared_ptr<ObjectReader> reader, std::vector<Part>* parts) {
  std::vector<ObjectReader::Piece> pieces;
  for (Part& part : *parts) {
    const uint64_t end = std::min(reader->size(), part.offset + part.length);
    part.bytes.assign(end - std::min(part.offset, end), '?');
    if (!part.bytes.empty()) pieces.push_back({part.offset, std::as_writable_bytes(std::span(part.bytes))});
  }
  co_return co_await reader->ReadVector(std::move(pieces));
}

// The parts, and for `hold` nothing before one of them.
Task<Status> World::ReadParts(Gateway* gateway, std::shared_ptr<ObjectReader> reader,
                              std::vector<Part>* parts, Duration hold) {
  if (shape_random_.OneIn(4)) {
    co_await Hold(gateway, hold);
    co_return co_await ReadAsVector(std::move(reader), parts);
  }
  const size_t held = shape_random_.OneIn(2) ? 0 : shape_random_.Below(parts->size());
  if (held == 0 && shape_random_.OneIn(4)) {
    // At the same time.
    co_await Hold(gateway, hold);
    Gather<Status> reads(*gateway->scope, *gateway->process);
    for (size_t i = 0; i < parts->size(); ++i) reads.Start(i, ReadPart(reader, &(*parts)[i]));
    Status all;
    while (reads.pending() > 0) {
      const auto event = co_await reads.Next();
      if (all) all = *event.value;
    }
    co_return std::move(all);
  }
  for (size_t i = 0; i < parts->size(); ++i) {
    if (i == held) co_await Hold(gateway, hold);
    Status status = co_await ReadPart(reader, &(*parts)[i]);
    if (!status) co_return std::move(status);
  }
  co_return OkStatus();
}

// `hold`: the name may change while the client has it open.
Task<Status> World::Read(Gateway* gateway, size_t id, std::string name, Duration hold) {
  // A gateway that is stopped between its look-up and its reads uses up the time for which old bytes stay.
  const TimePoint asked_at = executor_.Now();
  const std::string told = InStore(name);
  Result<std::shared_ptr<ObjectReader>> reader = co_await gateway->store->OpenRead(told);
  if (!reader) co_return reader.error();
  const Moment opened = moment_++;  // what is read was decided then
  std::vector<Part> parts = ChooseParts((*reader)->size());
  const Status got = co_await ReadParts(gateway, *reader, &parts, hold);
  if (!got) {
    const bool lost = got.code() == Code::kDataLoss || got.code() == Code::kCorruption;
    const bool gone = got.code() == Code::kConflict && !WasChangedLate(name);
    const bool in_time = executor_.Now() - asked_at < kReadersGrace;
    if ((lost || gone) && in_time && !spoiled_)
      Break(fmt::format("a read of {} (#{}) found data lost: {}", name, id, got.error().message));
    co_return Fail(Code::kUnavailable, "{}", got.error().ToString());
  }
  const Content content = ContentOf(parts, (*reader)->size());
  if (content == kNothing)
    Break(fmt::format("the read #{} of {} returned bytes that nobody wrote", id, name));
  history_.at(id).content = content;
  history_.at(id).ended = opened;
  co_return OkStatus();
}

}  // namespace xec::sim
