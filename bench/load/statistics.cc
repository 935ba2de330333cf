// SPDX-License-Identifier: LGPL-3.0-or-later
#include "load/statistics.hh"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sys/resource.h>

#include "base/units.hh"

namespace xec::load {
namespace {

rusage Usage() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

}  // namespace

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

double Quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

double CpuSeconds() {
  const rusage usage = Usage();
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void Statistics::Add(Duration latency, uint64_t bytes) {
  latencies_ms_.push_back(1e3 * Seconds(latency));
  bytes_ += bytes;
}

void Statistics::AddFailure(const Error& error) {
  if (failures_++ == 0) first_failure_ = error.message;
}

nlohmann::ordered_json Statistics::ToJson(Duration wall, double cpu_seconds) const {
  std::vector<double> sorted = latencies_ms_;
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  // A run in which nothing happened has no speed.
  const double seconds = Seconds(wall);
  const double per_second = seconds > 0 ? 1 / seconds : 0;
  nlohmann::ordered_json json;
  json["operations"] = sorted.size();
  json["failures"] = failures_;
  json["first_failure"] = failures_ == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(first_failure_);
  json["bytes"] = bytes_;
  json["seconds"] = seconds;
  json["operations_per_second"] = count * per_second;
  json["mib_per_second"] = static_cast<double>(bytes_) / static_cast<double>(kMiB) * per_second;
  json["cpu_seconds"] = cpu_seconds;
  json["peak_rss_mib"] = static_cast<double>(Usage().ru_maxrss) / 1024;
  json["latency_ms"] = {{"p50", Quantile(sorted, 0.5)},
                        {"p90", Quantile(sorted, 0.9)},
                        {"p99", Quantile(sorted, 0.99)},
                        {"max", sorted.empty() ? 0 : sorted.back()},
                        {"mean", sorted.empty() ? 0 : sum / count}};
  return json;
}

}  // namespace xec::load
