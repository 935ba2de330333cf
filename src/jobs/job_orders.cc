// SPDX-License-Identifier: LGPL-3.0-or-later
#include "jobs/job_orders.hh"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hh"

namespace xec {
namespace {

constexpr std::array<const char*, 3> kVerbs = {"pause", "resume", "cancel"};
constexpr std::string_view kRecordPrefix = "at";
constexpr size_t kNonceDigits = 16;

bool IsJobName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

std::optional<int64_t> ParseTime(std::string_view text) {
  const std::optional<uint64_t> time = ParseUint(text);
  if (!time || *time > static_cast<uint64_t>(INT64_MAX / 2)) return std::nullopt;
  return static_cast<int64_t>(*time);
}

}  // namespace

const char* JobVerbName(JobVerb verb) { return kVerbs[static_cast<size_t>(verb)]; }

std::string FormatJobMark(const JobMark& mark) {
  return fmt::format("{}.{}.{}", mark.job, JobVerbName(mark.verb), mark.time_ms);
}

std::optional<JobMark> ParseJobMark(std::string_view entry) {
  const std::vector<std::string_view> parts = Split(entry, '.');
  if (parts.size() != 3 || !IsJobName(parts[0])) return std::nullopt;
  const auto verb = std::find(kVerbs.begin(), kVerbs.end(), parts[1]);
  const std::optional<int64_t> time = ParseTime(parts[2]);
  if (verb == kVerbs.end() || !time) return std::nullopt;
  return JobMark{std::string(parts[0]), static_cast<JobVerb>(verb - kVerbs.begin()), *time};
}

std::string FormatRecordName(const RecordName& name) {
  return fmt::format("{}.{}.{}", kRecordPrefix, name.nonce, name.time_ms);
}

std::optional<RecordName> ParseRecordName(std::string_view entry) {
  const std::vector<std::string_view> parts = Split(entry, '.');
  if (parts.size() != 3 || parts[0] != kRecordPrefix) return std::nullopt;
  const std::optional<int64_t> time = ParseTime(parts[2]);
  if (parts[1].size() != kNonceDigits || !ParseHex(parts[1]) || !time) return std::nullopt;
  return RecordName{std::string(parts[1]), *time};
}

void JobOrders::Take(const JobMark& mark) {
  JobOrder& order = orders_[mark.job];
  if (mark.verb == JobVerb::kCancel) {
    order.cancelled_ms = std::max(order.cancelled_ms, mark.time_ms);
    return;
  }
  const bool pause = mark.verb == JobVerb::kPause;
  // Asked for both at once: a pause has a reason.
  if (mark.time_ms < order.since_ms || (mark.time_ms == order.since_ms && !pause)) return;
  order.paused = pause;
  order.since_ms = mark.time_ms;
}

JobOrder JobOrders::Of(std::string_view job) const {
  const auto found = orders_.find(job);
  return found == orders_.end() ? JobOrder{} : found->second;
}

std::vector<std::string> JobOrders::Paused() const {
  std::vector<std::string> names;
  for (const auto& [name, order] : orders_) {
    if (order.paused) names.push_back(name);
  }
  return names;
}

int64_t JobOrders::NextTime(std::string_view job, int64_t now_ms) const {
  const JobOrder order = Of(job);
  return std::max({now_ms, order.since_ms + 1, order.cancelled_ms + 1});
}

bool JobOrders::Outdated(const JobMark& mark) const {
  const JobOrder order = Of(mark.job);
  return mark.time_ms < (mark.verb == JobVerb::kCancel ? order.cancelled_ms : order.since_ms);
}

}  // namespace xec
