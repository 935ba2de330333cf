// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/log.hh"

#include <atomic>
#include <cstdio>
#include <mutex>

namespace xec {
namespace {

struct LogState {
  std::mutex mutex;
  LogSink sink;  // guarded by mutex
  std::atomic<LogLevel> minimum{LogLevel::kInfo};
};

LogState& State() {
  static LogState state;
  return state;
}

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "error";
}

}  // namespace

void SetLogSink(LogSink sink) {
  LogState& state = State();
  std::lock_guard lock(state.mutex);
  state.sink = std::move(sink);
}

void SetLogLevel(LogLevel minimum) { State().minimum = minimum; }

bool LogEnabled(LogLevel level) { return level >= State().minimum.load(std::memory_order_relaxed); }

void LogLine(LogLevel level, std::string_view component, std::string_view message) {
  std::string line = fmt::format("{} {}: {}", LevelName(level), component, message);
  LogState& state = State();
  std::lock_guard lock(state.mutex);
  if (state.sink) {
    state.sink(level, line);
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

void LogWith(LogLevel level, std::string_view component, fmt::string_view format, fmt::format_args args) {
  if (LogEnabled(level)) LogLine(level, component, fmt::vformat(format, args));
}

}  // namespace xec
