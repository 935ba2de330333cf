// SPDX-License-Identifier: LGPL-3.0-or-later
// What xrootd runs for a third-party copy by root:// (`ofs.tpc pgm`): hands the daemon, which waits for the
// bytes, the output of xrdcp.
//
//   xec-copy-helper SOCKET XRDCP [-C CHECKSUM] [-S STREAMS] SOURCE PATH
//
// xrootd shows the line "...: SENTENCE" on its standard error to the client. A declared checksum is compared
// by the daemon.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

int Complain(const std::string& sentence) {
  std::fprintf(stderr, "xec-copy-helper: %s: %s\n", sentence.c_str(), std::strerror(errno));
  return 1;
}

// The daemon's socket, or -1.
int Connect(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  const int connected = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connected < 0) return -1;
  return connect(connected, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? connected
                                                                                              : -1;
}

// A source that is gone is given up after a minute, rather than the half-hour of XRootD's client, unless the
// daemon's environment says otherwise.
void LimitPatience() {
  for (const auto& [name, value] : {std::pair("XRD_CONNECTIONWINDOW", "20"),
                                    {"XRD_CONNECTIONRETRY", "3"},
                                    {"XRD_STREAMERRORWINDOW", "60"}})
    setenv(name, value, 0);
}

}  // namespace

int main(int count, char** words) {
  if (count < 5) return Complain("usage: xec-copy-helper SOCKET XRDCP [OPTIONS] SOURCE PATH");
  std::vector<const char*> command = {words[2], "--server", "--nopbar"};
  for (int i = 3; i < count - 2; ++i) {
    const bool checksum = std::strcmp(words[i], "-C") == 0;
    if (!checksum) command.push_back(words[i]);
    i += checksum ? 1 : 0;
  }
  command.insert(command.end(), {words[count - 2], "-", nullptr});
  const int daemon = Connect(words[1]);
  if (daemon < 0) return Complain("the gateway cannot be reached");
  const char* client = std::getenv("XRD_TIDENT");
  const std::string greeting = std::string(client == nullptr ? "" : client) + "\n" + words[count - 1] + "\n";
  if (send(daemon, greeting.data(), greeting.size(), 0) != static_cast<ssize_t>(greeting.size()))
    return Complain("the gateway does not listen");
  char answer = 0;
  if (recv(daemon, &answer, 1, 0) != 1) return Complain("the gateway does not expect this copy");
  LimitPatience();
  if (dup2(daemon, STDOUT_FILENO) < 0) return Complain("no output");
  close(daemon);
  execv(words[2], const_cast<char* const*>(command.data()));
  return Complain(words[2]);
}
