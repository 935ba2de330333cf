// SPDX-License-Identifier: LGPL-3.0-or-later
// Reads of one client, timed one by one and compared with what was written. Each line of standard input
// prints one line of JSON: milliseconds of each, and how many were wrong or ended with an error.
//
//   stream PATH BYTES RATE        from start to end in pieces of BYTES, at most RATE MiB/s (0: as fast as it
//                                 goes); the times are those from the end of one piece to the end of the next
//   random PATH BYTES COUNT SEED  COUNT pieces of BYTES anywhere
//
//   echo 'random /a 1048576 100 1' | xec_reads root://localhost:1094 FILE-WITH-THE-SAME-BYTES
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "XrdCl/XrdClFile.hh"
#include "base/random.hh"

namespace {

using Clock = std::chrono::steady_clock;
// Far above what is measured: a client that gives up would hide a stall.
constexpr int kTimeoutSeconds = 300;
constexpr double kMiB = 1024.0 * 1024.0;

double Millis(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

class Session {
 public:
  Session(const std::string& url, const std::string& path, const std::string& expected, size_t piece)
      : expected_(expected), buffer_(piece, '\0') {
    if (!file_.Open(url + "/" + path, XrdCl::OpenFlags::Read, XrdCl::Access::None, kTimeoutSeconds).IsOK())
      ++errors_;
  }

  void Read(size_t offset) {
    uint32_t got = 0;
    const auto size = static_cast<uint32_t>(std::min(buffer_.size(), expected_.size() - offset));
    const auto status = file_.Read(offset, size, buffer_.data(), got, kTimeoutSeconds);
    const bool right =
        status.IsOK() && got == size && std::memcmp(buffer_.data(), expected_.data() + offset, size) == 0;
    if (!right) ++errors_;
  }

  void Stream(double rate) {
    const auto start = Clock::now();
    auto last = start;
    for (size_t offset = 0; offset < expected_.size(); offset += buffer_.size()) {
      if (rate > 0) {
        const std::chrono::duration<double> due(static_cast<double>(offset) / kMiB / rate);
        std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
      }
      Read(offset);
      const auto now = Clock::now();
      Note(now - last);
      last = now;
    }
  }

  void Random(size_t count, uint64_t seed) {
    xec::Random random(seed);
    for (size_t i = 0; i < count; ++i) {
      const size_t offset = random.Below(expected_.size() - buffer_.size() + 1);
      const auto start = Clock::now();
      Read(offset);
      Note(Clock::now() - start);
    }
  }

  std::string Close() {
    if (!file_.Close(kTimeoutSeconds).IsOK()) ++errors_;
    return fmt::format("{{\"errors\": {}, \"ms\": [{}]}}", errors_, times_);
  }

 private:
  void Note(Clock::duration time) {
    times_ += fmt::format("{}{:.3f}", times_.empty() ? "" : ", ", Millis(time));
  }

  const std::string& expected_;
  std::string buffer_;
  XrdCl::File file_;
  size_t errors_ = 0;
  std::string times_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: xec_reads root://HOST:PORT FILE\n");
    return 2;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string expected((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string operation, path;
    size_t piece = 0, count = 0;
    double rate = 0;
    uint64_t seed = 0;
    words >> operation >> path >> piece;
    if (operation == "stream") words >> rate;
    if (operation == "random") words >> count >> seed;
    if (!words || (operation != "stream" && operation != "random") || piece == 0 || piece > expected.size()) {
      fmt::print(stderr, "xec_reads: not understood: {}\n", line);
      return 2;
    }
    Session session(argv[1], path, expected, piece);
    if (operation == "stream") session.Stream(rate);
    if (operation == "random") session.Random(count, seed);
    fmt::print("{}\n", session.Close());
    std::fflush(stdout);
  }
  return 0;
}
