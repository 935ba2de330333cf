// SPDX-License-Identifier: LGPL-3.0-or-later
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <string>
#include <unistd.h>

#include "base/check.hh"
#include "base/failpoint.hh"
#include "base/text.hh"

namespace xec {
namespace {

struct Request {
  std::string name;
  uint64_t nth = 1;
  std::string fifo;  // empty: die
  int log = -1;
};

Request ReadRequest() {
  Request request;
  if (const char* file = std::getenv("XEC_FAILPOINT_LOG")) {
    request.log = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    XEC_CHECK(request.log >= 0, "cannot open XEC_FAILPOINT_LOG {}", file);
  }
  const char* wanted = std::getenv("XEC_FAILPOINT");
  if (wanted == nullptr) return request;
  std::string_view text(wanted);
  constexpr std::string_view kWait = "=wait:";
  const size_t action = text.find(kWait);
  if (action != std::string_view::npos) request.fifo = text.substr(action + kWait.size());
  text = text.substr(0, action);
  const size_t colon = text.find(':');
  request.name = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const std::optional<uint64_t> nth = ParseUint(text.substr(colon + 1));
    XEC_CHECK(nth && *nth > 0, "XEC_FAILPOINT={} counts from 1", wanted);
    request.nth = *nth;
  }
  XEC_CHECK(IsFailPoint(request.name), "XEC_FAILPOINT={}: there is no such fail point", wanted);
  return request;
}

void WaitForFifo(const std::string& fifo) {
  const int side = open(fifo.c_str(), O_RDONLY | O_CLOEXEC);
  XEC_CHECK(side >= 0, "cannot open the FIFO {}", fifo);
  char byte = 0;
  while (read(side, &byte, 1) > 0) {
  }
  close(side);
}

}  // namespace

void FailPointPassed(std::string_view name) {
  static const Request request = ReadRequest();
  static std::atomic<uint64_t> passed{0};
  if (request.log >= 0) {
    const std::string line = std::string(name) + "\n";
    const ssize_t written = write(request.log, line.data(), line.size());
    XEC_CHECK(written == static_cast<ssize_t>(line.size()), "cannot write XEC_FAILPOINT_LOG");
  }
  if (request.name != name || ++passed != request.nth) return;
  if (request.fifo.empty()) {
    kill(getpid(), SIGKILL);
  } else {
    WaitForFifo(request.fifo);
  }
}

}  // namespace xec
