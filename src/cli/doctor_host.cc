// SPDX-License-Identifier: LGPL-3.0-or-later
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hh"
#include "base/units.hh"
#include "cli/doctor.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

constexpr int kConnectMs = 3000;
constexpr rlim_t kFilesWanted = 65536;
constexpr rlim_t kFilesNeeded = 4096;

Finding CheckClock() {
  struct timex clock = {};
  const char* const todo = "Run a time service (chrony): certificates and tokens count by this clock.";
  if (adjtimex(&clock) < 0) return {FindingLevel::kWarn, "clock", "the system does not tell", todo};
  if ((clock.status & STA_UNSYNC) != 0) return {FindingLevel::kWarn, "clock", "it is not synchronized", todo};
  return {FindingLevel::kOk, "clock", fmt::format("synchronized, to {} ms at most", clock.maxerror / 1000)};
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses Resolve(const std::string& host, const std::string& port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &found) != 0) found = nullptr;
  return {found, freeaddrinfo};
}

Finding CheckName(const std::string& host) {
  if (!Resolve(host, "")) {
    return {FindingLevel::kFail, "name of this host", fmt::format("{} has no address", host),
            "Add it to the name service or /etc/hosts: XRootD needs it."};
  }
  if (host.find('.') == std::string::npos) {
    return {FindingLevel::kWarn, "name of this host", host,
            "Give it a full name (hostname -f): redirectors and certificates go by it."};
  }
  return {FindingLevel::kOk, "name of this host", host};
}

bool Connects(const addrinfo& address) {
  const UniqueFd fd(socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return true;
  pollfd waiting = {fd.get(), POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof(error);
  return errno == EINPROGRESS && poll(&waiting, 1, kConnectMs) == 1 &&
         getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

// `words` of a line all.manager: HOST:PORT, or HOST PORT.
Finding CheckRedirector(const std::vector<std::string>& words) {
  const size_t colon = words[1].rfind(':');
  const std::string host = words[1].substr(0, colon);
  const std::string port = colon != std::string::npos ? words[1].substr(colon + 1)
                           : words.size() > 2         ? words[2]
                                                      : "1213";
  const Addresses addresses = Resolve(host, port);
  for (const addrinfo* one = addresses.get(); one; one = one->ai_next) {
    if (Connects(*one)) return {FindingLevel::kOk, "redirector", fmt::format("{}:{} answers", host, port)};
  }
  return {FindingLevel::kFail, "redirector",
          fmt::format("{}:{} {}", host, port, addresses ? "does not answer" : "has no address"),
          "Start its cmsd, or let this host reach it; clients do not come here from there."};
}

Finding CheckPort(uint16_t port, bool running) {
  const std::string what = fmt::format("port {}", port);
  if (running) return {FindingLevel::kOk, what, "a gateway of this configuration runs"};
  const UniqueFd fd(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  const int on = 1;
  if (fd) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (fd && bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return {FindingLevel::kFail, what, fmt::format("it cannot be had: {}", ErrnoWords(errno)),
            "Stop what has it, or say xec.port."};
  }
  return {FindingLevel::kOk, what, "free"};
}

Finding CheckFiles() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  const std::string found = fmt::format("{} at most", limit.rlim_max);
  const char* const todo =
      "Raise it (LimitNOFILE=65536 in the unit): each client and each archive takes one.";
  if (limit.rlim_max < kFilesNeeded) return {FindingLevel::kFail, "open files", found, todo};
  if (limit.rlim_max < kFilesWanted) return {FindingLevel::kWarn, "open files", found, todo};
  return {FindingLevel::kOk, "open files", found};
}

Finding CheckMemory(uint64_t wanted) {
  const uint64_t has =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string found = fmt::format("xec.memory {} of {}", FormatSize(wanted), FormatSize(has));
  if (wanted < has / 2) return {FindingLevel::kOk, "memory", found};
  return {wanted < has ? FindingLevel::kWarn : FindingLevel::kFail, "memory", found,
          "Say less for xec.memory."};
}

// Of `xrootd -v`, which prints it to standard error: "v5.5.3".
Finding CheckVersions(const std::string& xrootd) {
  if (xrootd.empty()) {
    return {FindingLevel::kFail, "versions", "there is no program xrootd",
            "Install it (Debian: xrootd-server), or say xec.xrootd."};
  }
  std::string version;
  char buffer[128] = "";
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(fmt::format("'{}' -v 2>&1", xrootd).c_str(), "re"),
                                                     pclose);
  if (output && std::fgets(buffer, sizeof(buffer), output.get())) version = std::string(Trim(buffer));
  const std::string found = fmt::format("xec {}, xrootd {}", XEC_VERSION, version);
  if (version.starts_with("v5.5.3") || version.starts_with("v6.1"))
    return {FindingLevel::kOk, "versions", found};
  return {FindingLevel::kWarn, "versions", found,
          "XEC is tested with XRootD 5.5.3: docs/installation.md says what else."};
}

}  // namespace

Findings CheckHost(const SiteLines& lines, const Configuration& configuration, const DoctorView& view,
                   const std::string& xrootd, bool running) {
  Findings findings = {CheckVersions(xrootd),
                       CheckClock(),
                       CheckName(view.host),
                       CheckFiles(),
                       CheckMemory(configuration.engine.memory_bytes),
                       CheckPort(configuration.port, running)};
  for (const auto& words : lines) {
    if (words.front() == "all.manager" && words.size() > 1) findings.push_back(CheckRedirector(words));
  }
  return findings;
}

}  // namespace xec
