// SPDX-License-Identifier: LGPL-3.0-or-later
// xec_load: see README.md.
#include <fmt/format.h>

#include "load/command_line.hh"
#include "load/pattern.hh"
#include "load/scenarios.hh"

namespace {

using namespace xec::load;

struct Run {
  Session& session;
  auto operator()(const SmallOptions& options) const { return RunSmall(session, options); }
  auto operator()(const StreamOptions& options) const { return RunStream(session, options); }
  auto operator()(const RereadOptions& options) const { return RunReread(session, options); }
  auto operator()(const CopyOptions& options) const { return RunCopy(session, options); }
  auto operator()(const IngestOptions& options) const { return RunIngest(session, options); }
  auto operator()(const SparseOptions& options) const { return RunSparse(session, options); }
  auto operator()(const VectorOptions& options) const { return RunVector(session, options); }
  auto operator()(const ListOptions& options) const { return RunList(session, options); }
};

}  // namespace

int main(int argc, char** argv) {
  const ParsedCommand parsed = ParseCommandLine({argv + 1, argv + argc});
  if (!parsed.command) {
    fmt::print(parsed.exit_code == 0 ? stdout : stderr, "{}", parsed.text);
    return parsed.exit_code;
  }
  const Command& command = *parsed.command;
  const bool many = std::holds_alternative<IngestOptions>(command.scenario);
  const xec::Status prepared = PrepareProcess(many ? kClientsMax : command.common.clients);
  if (!prepared) {
    fmt::print(stderr, "xec_load: {}\n", prepared.error().message);
    return 1;
  }
  Pattern::MakeTable();
  Session session(command.common);
  fmt::print("{}\n", std::visit(Run{session}, command.scenario).dump());
  if (session.statistics().failures() > 0) {
    fmt::print(stderr, "xec_load: {}\n", session.statistics().first_failure());
    return 1;
  }
  return 0;
}
