// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/command_line.hh"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <deque>
#include <iostream>

#include "assembly/options.hh"
#include "cli/exit_code.hh"

namespace xec {
namespace {

struct CommandText {
  const char* name;
  const char* summary;
  const char* operands;  // as printed in the usage line; "" = none
  size_t operands_min;
  size_t operands_max;
  bool store;            // takes the options of a store
  const char* examples;
};

constexpr size_t kAny = 1000000;

constexpr CommandText kCommands[] = {
    {"serve", "Run a gateway: stock xrootd in the foreground, answering root:// and http://", "", 0, 0, true,
     "  xec serve --data /data/d{01..12}                 (bash: see --data below; repeat the flag)\n"
     "  xec serve --data /d1 --data /d2 --data /d3 --geometry 2+1 --port 1094\n"
     "  xec serve --origin root://redirector:1094 --geometry 8+2\n"
     "Ready when it prints a line that starts with `ready`; ctrl-C or SIGTERM stops it.\n"},
    {"put", "Store local files as objects", "SRC... DST", 2, kAny, true,
     "  xec put -c xec.conf run1.root /data/run1.root    replaces what is there, atomically\n"
     "  xec put -c xec.conf *.root /data/                a trailing / means: into this directory\n"
     "  tar c dir | xec put -c xec.conf - /backup.tar    - is standard input\n"},
    {"get", "Copy an object to a local file", "SRC DST", 2, 2, true,
     "  xec get -c xec.conf /data/run1.root .            into a directory, under its own name\n"
     "  xec get -c xec.conf /backup.tar - | tar x        - is standard output\n"
     "DST appears when it is complete; an interrupted get leaves nothing.\n"},
    {"cat", "Write objects to standard output", "OBJECT...", 1, kAny, true, "  xec cat -c xec.conf /a /b > both\n"},
    {"ls", "List directories", "[PATH...]", 0, kAny, true,
     "  xec ls -c xec.conf /data\n  xec ls -c xec.conf -l -R /                       sizes, times, all levels\n"},
    {"stat", "Show what is known of an object or directory", "PATH...", 1, kAny, true,
     "  xec stat -c xec.conf --json /data/run1.root\n"},
    {"rm", "Remove objects", "PATH...", 1, kAny, true,
     "  xec rm -c xec.conf /data/run1.root\n  xec rm -c xec.conf -r /data                      a directory with all in it\n"},
    {"mv", "Rename an object or directory", "FROM TO", 2, 2, true,
     "  xec mv -c xec.conf /data/a /data/b               replaces an object at the target\n"},
    {"mkdir", "Make directories", "DIRECTORY...", 1, kAny, true, "  xec mkdir -c xec.conf -p /data/2026/run1\n"},
    {"locate", "Show on which server each chunk of an object lies", "OBJECT...", 1, kAny, true,
     "  xec locate -c xec.conf /data/run1.root\n"},
    {"verify", "Read and check every chunk of objects", "OBJECT...", 1, kAny, true,
     "  xec verify -c xec.conf /data/run1.root           names every bad chunk; exit code 6 if there is one\n"},
    {"clean", "Remove now what interrupted work left behind", "", 0, 0, true, "  xec clean -c xec.conf\n"},
    {"recover", "Rebuild an object from copied archives, without any service", "FOLDER...", 1, kAny, false,
     "  xec recover copy/of/d01 copy/of/d07 -o run1.root\n"
     "  xec recover copies --object 3f2a90 -o run1.root  when the folders hold several objects\n"
     "  xec recover ds01 ds02 ds03 ds04 --name data/run1 --geometry 4+2 --chunk-size 64KiB -o run1.root\n"
     "The last form is for archives of stock XrdEc, which do not say what they belong to.\n"},
    {"version", "Print the version", "", 0, 0, false, ""},
};

// CLI11's own usage line does not know what our operands mean.
class UsageFormatter final : public CLI::Formatter {
 public:
  explicit UsageFormatter(const CommandText& text)
      : usage_(fmt::format("Usage: xec {} [OPTION]... {}\n", text.name, text.operands)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }

 private:
  const std::string usage_;
};

std::string ExitCodeText() {
  std::string text = "Exit codes:\n";
  for (const ExitCodeMeaning& row : kExitCodes) text += fmt::format("  {:>3}  {}\n", row.code, row.meaning);
  return text;
}

const char* GroupName(OptionGroup group) {
  switch (group) {
    case OptionGroup::kStore: return "The store";
    case OptionGroup::kGateway: return "The gateway";
    case OptionGroup::kLimits: return "Limits";
  }
  return "";
}

// Where CLI11 puts the values of one subcommand until they are looked at.
struct Collected {
  std::vector<std::string> configuration_files;
  std::deque<std::pair<const OptionRow*, std::vector<std::string>>> options;
  std::vector<std::string> geometry, chunk_size, size;  // of recover
};

CLI::Option* AddValues(CLI::App& app, const std::string& flag, std::vector<std::string>& values, const std::string& help) {
  return app.add_option(flag, values, help)->allow_extra_args(false);
}

void AddStoreOptions(CLI::App& app, Collected& collected, bool gateway) {
  AddValues(app, "-c", collected.configuration_files, "Read the xec. directives of this file; flags override them")
      ->type_name("FILE")
      ->group("The store");
  for (const OptionRow& row : OptionTable()) {
    if (row.group == OptionGroup::kGateway && !gateway) continue;
    std::string help(row.help);
    if (!row.initial.empty()) help += fmt::format(" Default: {}.", row.initial);
    if (row.repeats) help += " May be repeated.";
    auto& values = collected.options.emplace_back(&row, std::vector<std::string>{}).second;
    AddValues(app, fmt::format("--{}", row.name), values, help)->type_name(std::string(row.argument))->group(GroupName(row.group));
  }
}

void AddOwnOptions(CLI::App& app, const std::string& name, CommandLine& line, Collected& collected) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
  };
  if (is({"put", "get", "ls", "stat", "locate", "verify", "clean", "recover", "version"})) {
    app.add_flag("--json", line.json, "Print JSON, one document");
  }
  if (is({"put", "get", "recover", "verify"})) app.add_flag("-q,--quiet", line.quiet, "No progress, no summary");
  if (name == "put") app.add_flag("--exclusive", line.exclusive, "Fail when there is something under the name");
  if (name == "ls") app.add_flag("-l", line.long_form, "Sizes and times");
  if (name == "ls") app.add_flag("-R", line.recursive, "All levels below");
  if (name == "rm") app.add_flag("-r", line.recursive, "Directories with all in them");
  if (name == "mkdir") app.add_flag("-p", line.parents, "Missing parents too; fine if it exists");
  if (name != "recover") return;
  app.add_option("-o", line.output, "Where to write the object; - is standard output")->type_name("FILE")->required();
  app.add_option("--object", line.object, "Object id, or its beginning, or path of the object wanted")->type_name("ID");
  AddValues(app, "--name", line.names, "XrdEc: path of the archives below the folders")->type_name("PATH");
  AddValues(app, "--geometry", collected.geometry, "XrdEc: geometry of the object")->type_name("K+M");
  AddValues(app, "--chunk-size", collected.chunk_size, "XrdEc: chunk size of the object")->type_name("SIZE");
  AddValues(app, "--size", collected.size, "XrdEc: size of the object, where its end is missing")->type_name("BYTES");
}

// The values in the order of precedence: flags, then the file.
Status Apply(Collected& collected, CommandLine& line) {
  if (collected.configuration_files.size() > 1) return Fail(Code::kInvalidArgument, "-c: only one file can be given");
  Configuration file;
  if (!collected.configuration_files.empty()) {
    line.configuration_file = collected.configuration_files.front();
    XEC_ASSIGN_OR_RETURN(file, ParseConfigurationFile(line.configuration_file));
  }
  Configuration& flags = line.configuration;
  for (const auto& [row, values] : collected.options) {
    for (const std::string& value : values) {
      const Status set = SetOption(flags, row->name, value, fmt::format("--{}", row->name));
      if (!set) return Fail(set.code(), "--{}: {}", row->name, set.error().message);
    }
  }
  // Servers named by flags replace those of the file, whatever their kind.
  const bool other_servers = !flags.data.empty() || !flags.servers.empty() || !flags.origin.empty();
  for (const OptionRow& row : OptionTable()) {
    const bool names_servers = row.name == "data" || row.name == "server" || row.name == "origin";
    if (flags.given.contains(row.name) || (names_servers && other_servers)) continue;
    for (const std::string& value : row.get(file)) XEC_TRY(SetOption(flags, row.name, value, "-c"));
  }
  return ValidateConfiguration(flags);
}

Status ApplyRecover(const Collected& collected, CommandLine& line) {
  const auto set = [&](const char* name, const std::vector<std::string>& values) -> Status {
    for (const std::string& value : values) {
      const Status done = SetOption(line.configuration, name, value, fmt::format("--{}", name));
      if (!done) return Fail(done.code(), "--{}: {}", name, done.error().message);
    }
    return OkStatus();
  };
  XEC_TRY(set("geometry", collected.geometry));
  XEC_TRY(set("chunk-size", collected.chunk_size));
  for (const std::string& value : collected.size) {
    const auto bytes = ParseSize(value);
    if (!bytes) return Fail(Code::kInvalidArgument, "--size: {}", bytes.error().message);
    line.size = *bytes;
  }
  return OkStatus();
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, char** argv) {
  CommandLine line;
  std::deque<Collected> collected;
  CLI::App app("XEC: an erasure-coded object store on XRootD servers or local directories.", "xec");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("xec ") + XEC_VERSION);
  app.footer(
      "Every command that works on a store takes the same options (`xec put --help`), or -c FILE with the same as\n"
      "directives: --data DIR is the line `xec.data DIR`.\n\n"
      "Try it:\n"
      "  xec put --data /tmp/x/1 --data /tmp/x/2 --data /tmp/x/3 --geometry 2+1 /etc/hosts /hosts\n"
      "  rm -r /tmp/x/2\n"
      "  xec cat --data /tmp/x/1 --data /tmp/x/2 --data /tmp/x/3 /hosts\n\n" +
      ExitCodeText());
  for (const CommandText& text : kCommands) {
    CLI::App* sub = app.add_subcommand(text.name, text.summary);
    Collected& values = collected.emplace_back();
    if (text.operands_max > 0) {
      sub->add_option("operands", line.operands, text.operands)
          ->allow_extra_args(false)
          ->expected(0, static_cast<int>(kAny))
          ->group("");
    }
    sub->formatter(std::make_shared<UsageFormatter>(text));
    AddOwnOptions(*sub, text.name, line, values);
    if (text.store) AddStoreOptions(*sub, values, std::string_view(text.name) == "serve");
    if (*text.examples) sub->footer(std::string("Examples:\n") + text.examples);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    app.exit(success, std::cout, std::cerr);
    return CommandLine{};
  } catch (const CLI::ParseError& error) {
    return Fail(Code::kInvalidArgument, "{}", error.what());
  }
  const CLI::App* chosen = app.get_subcommands().front();
  line.command = chosen->get_name();
  for (size_t i = 0; i < std::size(kCommands); ++i) {
    const CommandText& text = kCommands[i];
    if (line.command != text.name) continue;
    if (line.operands.size() < text.operands_min || line.operands.size() > text.operands_max) {
      return Fail(Code::kInvalidArgument, "usage: xec {} [OPTION]... {}", text.name, text.operands);
    }
    if (text.store) XEC_TRY(Apply(collected[i], line));
    if (line.command == "recover") XEC_TRY(ApplyRecover(collected[i], line));
  }
  return line;
}

}  // namespace xec
