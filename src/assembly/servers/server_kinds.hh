// SPDX-License-Identifier: LGPL-3.0-or-later
// The kinds of data servers there are: one table, by the scheme that addresses begin with. Nothing else looks
// at addresses. A new kind is a DataServer that passes the conformance suite
// (server/conformance/conformance.hh), in two files of its own, and a row here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/executor.hh"
#include "runtime/task.hh"
#include "server/data_server.hh"
#include "server/decorators/completion_gate.hh"

namespace xec {

// What a server is made with.
struct ServerSetUp {
  Executor& executor;  // runs what is answered
  std::shared_ptr<CompletionGate> gate;  // closed before the executor goes (see connect)
  std::string identity = {};  // of a kind that knows_its_disk: see there
  bool sync_names = true;  // policy commit (data_server.hh, DURABILITY)
};

struct ServerKind {
  std::string_view scheme;  // "root://"; of the one kind without: ""
  std::string_view form;  // of its addresses, for messages: "root://HOST:PORT"
  std::string_view noun;  // "data server"

  // A directory of this machine. It is looked at by system calls before it is used (DirectoryLook) and
  // written by this process's user; a store knows it by its identity file, wherever it lies, not by its
  // address.
  bool local;

  // Two addresses may lead to one server, and only what is written by one and read by the other tells.
  bool has_several_names;

  // The server itself answers kUnavailable unless the file kIdentityPath holds the `identity` it is made
  // with. False: it gets an IdentityGuard around it.
  bool knows_its_disk;

  // The one spelling of an address, so that equal servers have equal addresses. Error: kInvalidArgument.
  Result<std::string> (*normalize)(std::string_view text);

  // A server that has been asked nothing yet. Its name() begins with the scheme. When gate and executor go,
  // its requests in flight must not touch them any more: where it does not see to that itself, a GatedServer
  // stands around it. Error: kInvalidArgument.
  Result<DataServerPtr> (*connect)(const std::string& address, ServerSetUp set_up);

  // The addresses of the data servers behind one that knows them all, for the option `origin`; null: there is
  // no such thing. `executor` outlives the task. Errors: kUnavailable, kDeadlineExceeded.
  Task<Result<std::vector<std::string>>> (*discover)(std::string origin, Executor& executor,
                                                     TimePoint deadline);
};

// Of the address, or name(), of a server. Addresses with a scheme that has no row are of a kind that cannot
// be connected.
const ServerKind& KindOf(std::string_view address);

// As KindOf(text).normalize, for options that take no directory; the second one needs `discover`. Error:
// kInvalidArgument.
Result<std::string> NormalizeServerAddress(std::string_view text);
Result<std::string> NormalizeOrigin(std::string_view text);

// "host:1094" for "root://host:1094".
std::string_view WithoutScheme(std::string_view address);

}  // namespace xec
