// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/terminal.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <unistd.h>

#include <fmt/format.h>

#include "base/units.hh"
#include "cli/exit_code.hh"
#include "cli/owner.hh"

namespace xec {
namespace {

constexpr auto kDrawInterval = std::chrono::milliseconds(200);
constexpr int kBarWidth = 24;

// A signal handler may touch nothing else. The path is written while remove_path is false only.
std::atomic<bool> interrupted{false};
std::atomic<bool> remove_path{false};
std::array<char, 4096> path_to_remove;

extern "C" void OnInterrupt(int) {
  if (remove_path.load()) {
    BecomeCallerInSignalHandler();
    unlink(path_to_remove.data());
    _exit(kExitInterrupted);
  }
  if (interrupted.exchange(true)) _exit(kExitInterrupted);
}

}  // namespace

Progress::Progress(std::string label, uint64_t total, bool quiet)
    : label_(std::move(label)), total_(total), shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { Wipe(); }

void Progress::Wipe() {
  if (drawn_now_) fmt::print(stderr, "\r\033[K");
  drawn_now_ = false;
}

void Progress::Add(uint64_t bytes) {
  done_ += bytes;
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - drawn_ < kDrawInterval) return;
  drawn_ = now;
  drawn_now_ = true;
  Draw();
}

StatusLine::StatusLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

StatusLine::~StatusLine() { Wipe(); }

bool StatusLine::Due() {
  const auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - drawn_ < kDrawInterval) return false;
  drawn_ = now;
  return true;
}

void StatusLine::Draw(const std::string& text) {
  drawn_now_ = true;
  fmt::print(stderr, "\r\033[K{}", text);
}

void StatusLine::Wipe() {
  if (drawn_now_) fmt::print(stderr, "\r\033[K");
  drawn_now_ = false;
}

void Progress::Draw() {
  const double seconds = std::chrono::duration<double>(drawn_ - start_).count();
  const double speed = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
  std::string bar;
  if (total_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    const int full = static_cast<int>(share * kBarWidth);
    bar = fmt::format("[{:#<{}}{:.<{}}] {:3.0f}%  ", "", full, "", kBarWidth - full, share * 100);
  }
  fmt::print(stderr, "\r\033[K{}  {}{}  {}/s", label_, bar, FormatSize(done_),
             FormatSize(static_cast<uint64_t>(speed)));
  std::fflush(stderr);
}

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
}

bool Interrupted() { return interrupted.load(); }

void RemoveOnInterrupt(const std::string& path) {
  remove_path.store(false);
  if (path.empty() || path.size() + 1 > path_to_remove.size()) return;
  std::memcpy(path_to_remove.data(), path.c_str(), path.size() + 1);
  remove_path.store(true);
}

std::string FormatTime(int64_t milliseconds_since_1970) {
  const time_t seconds = milliseconds_since_1970 / 1000;
  struct tm parts = {};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::string FormatAge(int64_t milliseconds) {
  const int64_t seconds = std::max<int64_t>(0, milliseconds / 1000);
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

int64_t WallNow() {
  struct timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace xec
