// SPDX-License-Identifier: LGPL-3.0-or-later
// One log for the whole process: a line "LEVEL component: message" handed to a sink that the front end
// sets (standard error by default). Thread-safe. Secrets are never logged.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace xec {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

using LogSink = std::function<void(LogLevel level, std::string_view line)>;

// Replaces the sink; call once at start, before other threads log. Threads call it at the same time, and one
// that had begun may still be in the sink before.
void SetLogSink(LogSink sink);
void SetLogLevel(LogLevel minimum);
bool LogEnabled(LogLevel level);
void LogLine(LogLevel level, std::string_view component, std::string_view message);

void LogWith(LogLevel level, std::string_view component, fmt::string_view format, fmt::format_args args);
template <typename... Args>
void Log(LogLevel level, std::string_view component, fmt::format_string<Args...> format, Args&&... args) {
  LogWith(level, component, format, fmt::make_format_args(args...));
}

}  // namespace xec
