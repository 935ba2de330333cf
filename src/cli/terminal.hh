// SPDX-License-Identifier: LGPL-3.0-or-later
// What the program shows while it works, and how it is interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace xec {

// A line on standard error that tells how far a transfer is; nothing unless that is a terminal. One thread.
class Progress {
 public:
  // `total` 0: unknown.
  Progress(std::string label, uint64_t total, bool quiet);
  ~Progress();  // wipes the line
  void Add(uint64_t bytes);
  // Makes room for a line of results.
  void Wipe();

 private:
  void Draw();

  const std::string label_;
  const uint64_t total_;
  const bool shown_;
  uint64_t done_ = 0;
  bool drawn_now_ = false;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point drawn_{};
};

// A line on standard error that says where a long piece of work stands; nothing unless that is a terminal.
// One thread at a time.
class StatusLine {
 public:
  explicit StatusLine(bool quiet);
  ~StatusLine();  // wipes the line
  // Asks for the text only when it is time to show it.
  template <typename Text>
  void Show(Text text) {
    if (Due()) Draw(text());
  }
  // Makes room for a line of results.
  void Wipe();

 private:
  bool Due();
  void Draw(const std::string& text);

  const bool shown_;
  bool drawn_now_ = false;
  std::chrono::steady_clock::time_point drawn_{};
};

// From here on the first SIGINT or SIGTERM only makes Interrupted() true; a second one ends the process.
void CatchInterrupts();
bool Interrupted();

// While a path is set, a signal that ends the process removes that file first. "" = none. CatchInterrupts
// first.
void RemoveOnInterrupt(const std::string& path);

// "2026-11-21 07:30:12", UTC.
std::string FormatTime(int64_t milliseconds_since_1970);

// "90 s", "3 h".
std::string FormatAge(int64_t milliseconds);

// By the clock of this computer, in milliseconds since 1970.
int64_t WallNow();

}  // namespace xec
