// SPDX-License-Identifier: LGPL-3.0-or-later
// The program `xec`.
#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>
#include <unistd.h>

#include "base/log.hh"
#include "cli/commands.hh"
#include "cli/mount_helper.hh"
#include "cli/owner.hh"
#include "cli/terminal.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

// For how long the program stays to let the rest of its last change end, e.g. archives on slow servers.
constexpr Duration kSettle = std::chrono::seconds(30);
constexpr Duration kSettleReading = std::chrono::milliseconds(100);

using Command = Result<int> (*)(const CommandLine&, OpenedStore&);
struct StoreCommand {
  const char* name;
  Command run;
  bool changes;  // what goes on after the answer is waited for
  bool creates;  // makes a new store where there is none
};
constexpr StoreCommand kStoreCommands[] = {
    {"put", RunPut, true, true},         {"get", RunGet, false, false},
    {"cat", RunGet, false, false},       {"ls", RunList, false, false},
    {"stat", RunStat, false, false},     {"rm", RunRemove, true, false},
    {"mv", RunMove, true, false},        {"mkdir", RunMakeDirectory, true, true},
    {"locate", RunLocate, false, false}, {"verify", RunVerify, false, false},
    {"health", RunHealth, false, false}, {"repair", RunRepair, true, false},
    {"clean", RunClean, true, false},    {"jobs", RunJobs, true, false},
    {"server", RunServer, true, false},  {"lost", RunLostByWalk, false, false},
    {"plan", RunPlan, false, false},     {"balance", RunBalance, true, false},
    {"space", RunSpace, false, false},
};

// The answer even where nobody can read the sentence.
int Report(const Error& error) {
  std::fputs(fmt::format("xec: {}\n", error.message).c_str(), stderr);
  return ExitCodeOf(error.code);
}

Error OutputFailed(int number) {
  const Code code = CodeOfErrno(number) == Code::kNoSpace ? Code::kNoSpace : Code::kInternal;
  if (number == 0) return Fail(code, "not all of standard output could be written");
  return Fail(code, "cannot write standard output: {}", ErrnoWords(number));
}

// Runs `body`. Libraries throw, fmt above all when what it prints cannot be written.
template <typename Body>
Result<int> Caught(Body body) {
  try {
    return body();
  } catch (const std::system_error& error) {
    const int number = error.code().value();
    if (std::ferror(stdout) != 0) return OutputFailed(number);
    return Fail(CodeOfErrno(number), "{}", error.what());
  } catch (const std::bad_alloc&) {
    return Fail(Code::kUnavailable, "out of memory");
  } catch (const std::exception& error) {
    return Fail(Code::kInternal, "unexpected exception: {}", error.what());
  }
}

// `code`, unless not all that was printed has been written. A flush that fails forgets its bytes: the next
// one succeeds, and only the stream's mark is left.
Result<int> AfterOutput(Result<int> code) {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || !code || *code != kExitOk) return code;
  return OutputFailed(errno);
}

Result<int> RunOnStore(const StoreCommand& command, const CommandLine& line) {
  OpenOptions options;
  options.create_if_new = command.creates;
  XEC_TRY(WorkAsOwner(line.configuration));
  XEC_ASSIGN_OR_RETURN(std::unique_ptr<OpenedStore> store, OpenStore(line.configuration, options));
  if (!line.quiet) {
    for (const std::string& note : store->notes()) fmt::print(stderr, "xec: {}\n", note);
  }
  CatchInterrupts();
  Result<int> code = AfterOutput(Caught([&] { return command.run(line, *store); }));
  if (!store->Settle(command.changes ? kSettle : kSettleReading)) {
    // A server that hangs still has requests of ours; the destructor would wait for it.
    _exit(code ? *code : Report(code.error()));
  }
  return code;
}

Result<int> Run(int argc, char** argv) {
  XEC_ASSIGN_OR_RETURN(CommandLine line, ParseCommandLine(argc, argv));
  if (line.command.empty()) return kExitOk;
  if (line.command == "version") {
    if (line.json) {
      fmt::print("{{\"version\": \"{}\"}}\n", XEC_VERSION);
    } else {
      fmt::print("xec {}\n", XEC_VERSION);
    }
    return kExitOk;
  }
  if (line.command == "serve") return RunServe(std::move(line));
  if (line.command == "mount") return RunMount(std::move(line));
  if (line.command == "doctor") return RunDoctor(line);
  if (line.command == "config") return RunConfig(line);
  if (line.command == "recover") return RunRecover(line);
  if (line.command == "lost" && !line.walk) return RunLost(line);
  if (line.command == "plan" && line.planned_servers) return RunPlanDescribed(line);
  for (const StoreCommand& command : kStoreCommands) {
    if (line.command == command.name) return RunOnStore(command, line);
  }
  return Fail(Code::kInternal, "the command {} is not built in", line.command);
}

Result<int> RunMountHelper(int argc, char** argv) {
  XEC_ASSIGN_OR_RETURN(std::vector<std::string> words, WordsOfMountHelper({argv + 1, argv + argc}));
  if (words.empty()) return kExitOk;
  std::vector<char*> line = {argv[0]};
  for (std::string& word : words) line.push_back(word.data());
  return Run(static_cast<int>(line.size()), line.data());
}

}  // namespace
}  // namespace xec

int main(int argc, char** argv) {
  // What the library reports, front ends print themselves.
  xec::SetLogLevel(xec::LogLevel::kError);
  const bool helper = argc > 0 && xec::IsMountHelper(argv[0]);
  const xec::Result<int> code = xec::AfterOutput(
      xec::Caught([&] { return helper ? xec::RunMountHelper(argc, argv) : xec::Run(argc, argv); }));
  const int exit_code = code ? *code : xec::Report(code.error());
  return helper ? xec::MountHelperExitCode(exit_code) : exit_code;
}
