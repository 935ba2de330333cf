// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/configuration/limit_options.hh"

#include "assembly/configuration/option_values.hh"

namespace xec {
namespace {

using Values = std::vector<std::string>;
using C = Configuration;

template <Duration EngineOptions::* member>
Status SetTime(C& c, std::string_view value) {
  XEC_ASSIGN_OR_RETURN(std::chrono::milliseconds time, ParseDuration(value));
  if (time.count() == 0)
    return Fail(Code::kInvalidArgument, "'{}' is no time: it must be more than 0", value);
  c.engine.*member = time;
  return OkStatus();
}

template <Duration EngineOptions::* member>
Values GetTime(const C& c) {
  if (c.engine.*member == EngineOptions().*member) return {};
  return {FormatTime(c.engine.*member)};
}

#define XEC_TIME_ROW(name, initial, help, member)                                              \
  OptionRow {                                                                                  \
    name, "TIME", initial, help, OptionGroup::kLimits, false, SetTime<&EngineOptions::member>, \
        GetTime<&EngineOptions::member>                                                        \
  }

template <auto member, uint64_t least, uint64_t most>
Status SetCount(C& c, std::string_view value) {
  XEC_ASSIGN_OR_RETURN(uint64_t count, ParseCount(value, least, most));
  c.engine.*member = static_cast<std::remove_reference_t<decltype(c.engine.*member)>>(count);
  return OkStatus();
}

template <auto member>
Values GetCount(const C& c) {
  if (c.engine.*member == EngineOptions().*member) return {};
  return {fmt::format("{}", c.engine.*member)};
}

#define XEC_COUNT_ROW(name, initial, help, member, least, most)                                           \
  OptionRow {                                                                                             \
    name, "N", initial, help, OptionGroup::kLimits, false, SetCount<&EngineOptions::member, least, most>, \
        GetCount<&EngineOptions::member>                                                                  \
  }

Status SetReserve(C& c, std::string_view value) {
  SpaceReserve reserve;
  if (value.ends_with('%')) {
    XEC_ASSIGN_OR_RETURN(reserve.percent,
                         ParseCount(value.substr(0, value.size() - 1), 0, SpaceReserve::kPercentMax));
  } else {
    XEC_ASSIGN_OR_RETURN(reserve.bytes, ParseSize(value));
  }
  c.engine.reserve = reserve;
  return OkStatus();
}

std::vector<OptionRow> CountRows() {
  return {
      {"memory", "SIZE", "1GiB",
       "The one budget of the process for payload, 1MiB at least; a stripe must fit. Uploads under way have "
       "three quarters of it, a stripe each at least; others wait in their open. With five stripes or more, "
       "reads and repairs never wait for uploads.",
       OptionGroup::kLimits, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(uint64_t bytes, ParseSize(value));
         if (bytes < kMiB) return Fail(Code::kInvalidArgument, "'{}' is too little: at least 1MiB", value);
         c.engine.memory_bytes = bytes;
         return OkStatus();
       },
       [](const C& c) {
         const uint64_t bytes = c.engine.memory_bytes;
         return bytes == EngineOptions().memory_bytes ? Values{} : Values{FormatBytes(bytes)};
       }},
      {"cache", "SIZE", "0",
       "How much of the memory may hold stripes that were read, for the next reader. Whatever needs "
       "memory takes it from there.",
       OptionGroup::kLimits, false,
       [](C& c, std::string_view value) -> Status {
         XEC_ASSIGN_OR_RETURN(c.engine.cache_bytes, ParseSize(value));
         return OkStatus();
       },
       [](const C& c) {
         const uint64_t bytes = c.engine.cache_bytes;
         return bytes == EngineOptions().cache_bytes ? Values{} : Values{FormatBytes(bytes)};
       }},
      {"reserve", "SIZE|N%", "2%, at least 64MiB, but no more than a tenth of a disk",
       "So much of each disk is kept free of new archives, so that names can always be removed. A data "
       "server "
       "with less counts as full; an upload for which too few are left is refused as it begins.",
       OptionGroup::kLimits, false, SetReserve,
       [](const C& c) {
         const SpaceReserve& reserve = c.engine.reserve;
         if (reserve.bytes) return Values{FormatBytes(*reserve.bytes)};
         return reserve.percent ? Values{fmt::format("{}%", *reserve.percent)} : Values{};
       }},
      XEC_COUNT_ROW("stripes-in-flight", "3",
                    "Stripes on their way at once for one writer or one sequential reader, 1 to 64.",
                    stripes_in_flight, 1, 64),
      XEC_COUNT_ROW("retries", "4", "How often an operation that others overtook starts again, 0 to 100.",
                    retries_max, 0, 100),
      XEC_COUNT_ROW("hedge-percent", "5",
                    "For chunks that are merely late so many requests, in percent (0 to 100), may be added "
                    "to those for chunks, and 10 a second; with 0 none.",
                    hedge_percent, 0, 100),
  };
}

std::vector<OptionRow> TimeRows() {
  return {
      XEC_TIME_ROW("metadata-timeout", "10s",
                   "Longest wait for one listing, rename or removal on one server.", metadata_timeout),
      XEC_TIME_ROW("read-timeout", "60s", "Longest wait for one read of chunk data.", read_timeout),
      XEC_TIME_ROW(
          "write-timeout", "30m",
          "Longest wait for one write of chunk data, or its sync and close; a vanilla server that says "
          "nothing at all for 30s is given up before.",
          write_timeout),
      XEC_TIME_ROW(
          "hedge-delay", "200ms",
          "A chunk is late, and others are read in its place, after four times what its server "
          "usually takes, and after this at the latest (for each 2MiB of a larger chunk); later, up to 4s, "
          "while all servers are behind.",
          hedge_delay),
      XEC_TIME_ROW(
          "superseded-grace", "5m",
          "How long a version that was replaced or removed stays readable for readers that have it open.",
          superseded_grace),
      XEC_TIME_ROW("upload-grace", "1h", "How long an upload may be silent before the cleaner gives it up.",
                   upload_grace),
      XEC_TIME_ROW(
          "tombstone-horizon", "15m",
          "How long the mark of a removal is kept, longer while any server is away: at least twice the "
          "operation limit of every process on the store.",
          tombstone_horizon),
      XEC_TIME_ROW("operation-limit", "1m", "When a removal, rename or commit gives up, at most 1m.",
                   operation_limit),
      XEC_TIME_ROW(
          "descriptor-interval", "30s",
          "How often the store descriptor is read again, at most 30s: after three times as long without "
          "it nothing is answered, and a change of the members waits for that.",
          descriptor_interval),
  };
}

#undef XEC_COUNT_ROW
#undef XEC_TIME_ROW

}  // namespace

std::vector<OptionRow> LimitRows() {
  std::vector<OptionRow> rows = CountRows();
  for (OptionRow& row : TimeRows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace xec
