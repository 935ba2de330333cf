// SPDX-License-Identifier: LGPL-3.0-or-later
#include "base/log.hh"

#include <atomic>
#include <cstdio>
#include <memory>

#include "base/mutex.hh"

namespace xec {
namespace {

struct LogState {
  Mutex mutex;
  std::shared_ptr<const LogSink> sink XEC_GUARDED_BY(mutex);  // null: standard error
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
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  LogState& state = State();
  const MutexLock lock(state.mutex);
  state.sink.swap(next);  // the one before goes without the lock
}

void SetLogLevel(LogLevel minimum) { State().minimum = minimum; }

bool LogEnabled(LogLevel level) { return level >= State().minimum.load(std::memory_order_relaxed); }

void LogLine(LogLevel level, std::string_view component, std::string_view message) {
  std::string line = fmt::format("{} {}: {}", LevelName(level), component, message);
  std::shared_ptr<const LogSink> sink;
  {
    LogState& state = State();
    const MutexLock lock(state.mutex);
    sink = state.sink;
  }
  if (sink) {
    (*sink)(level, line);
  } else {
    std::fprintf(stderr, "%s\n", line.c_str());
  }
}

void LogWith(LogLevel level, std::string_view component, fmt::string_view format, fmt::format_args args) {
  if (LogEnabled(level)) LogLine(level, component, fmt::vformat(format, args));
}

}  // namespace xec
