// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/command_line.hh"

#include <algorithm>
#include <deque>
#include <iostream>
#include <map>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "api/balance.hh"
#include "assembly/configuration/configuration_file.hh"
#include "assembly/configuration/options.hh"
#include "base/text.hh"
#include "base/units.hh"
#include "cli/command_table.hh"
#include "cli/exit_code.hh"

namespace xec {
namespace {

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

// The title of a group of options in the help.
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
  std::vector<std::string> output, object, geometry, chunk_size, size;  // of recover
  std::vector<std::string> with, host, time, by;  // of server
  std::vector<std::string> disk, name_space, inventory;                 // of lost
  std::vector<std::string> servers, hosts, capacity;                    // of plan
  std::vector<std::string> within;                                      // of balance
  std::vector<std::string> redirector, higher;                          // of config
  std::vector<std::string> log;                                         // of mount
};

CLI::Option* AddValues(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                       const std::string& help) {
  return app.add_option(flag, values, help)->allow_extra_args(false);
}

// Has the command an option of this flag itself, which means something else?
bool HasOwn(std::string_view command, std::string_view flag) {
  return std::any_of(std::begin(kOwnOptions), std::end(kOwnOptions), [&](const OwnOption& option) {
    return option.flag == flag && TakesOption(option, command);
  });
}

void AddStoreOptions(CLI::App& app, std::string_view command, Collected& collected) {
  AddValues(app, "-c", collected.configuration_files,
            "Read the xec. directives of this file; flags override them")
      ->type_name("FILE")
      ->group("The store");
  for (const OptionRow& row : OptionTable()) {
    if (row.group == OptionGroup::kGateway && command != "serve") continue;
    if (HasOwn(command, fmt::format("--{}", row.name))) continue;
    std::string help(row.help);
    if (!row.initial.empty()) help += fmt::format(" Default: {}.", row.initial);
    if (row.repeats) help += " May be repeated.";
    auto& values = collected.options.emplace_back(&row, std::vector<std::string>{}).second;
    AddValues(app, fmt::format("--{}", row.name), values, help)
        ->type_name(std::string(row.argument))
        ->group(GroupName(row.group));
  }
}

// The options of one command only; their texts are in the table.
void AddOwnOptions(CLI::App& app, const CommandText& command, CommandLine& line, Collected& collected) {
  const std::map<std::string_view, bool*> switches = {{"--json", &line.json},
                                                      {"-q,--quiet", &line.quiet},
                                                      {"--exclusive", &line.exclusive},
                                                      {"--all", &line.all},
                                                      {"-l", &line.long_form},
                                                      {"-R", &line.recursive},
                                                      {"-r", &line.recursive},
                                                      {"-p", &line.parents},
                                                      {"--deep", &line.deep},
                                                      {"--servers", &line.servers_only},
                                                      {"--lost", &line.lost},
                                                      {"--dry-run", &line.dry_run},
                                                      {"--srr", &line.srr},
                                                      {"--walk", &line.walk},
                                                      {"--names-only", &line.names_only},
                                                      {"--last", &line.last},
                                                      {"--watch", &line.watch},
                                                      {"--force", &line.force},
                                                      {"-f", &line.foreground},
                                                      {"--tls", &line.site.tls},
                                                      {"--voms", &line.site.voms},
                                                      {"--tokens", &line.site.tokens},
                                                      {"--tpc", &line.site.third_party},
                                                      {"--sss", &line.site.shared_secrets},
                                                      {"--krb5", &line.site.kerberos}};
  const std::map<std::string_view, std::vector<std::string>*> values = {
      {"-o", &collected.output},
      {"--object", &collected.object},
      {"--name", &line.names},
      {"--endpoint", &line.endpoints},
      {"--vo", &line.vos},
      {"--gone", &line.gone},
      {"--with", &collected.with},
      {"--host", &collected.host},
      {"--for", &collected.time},
      {"--by", &collected.by},
      {"--geometry", &collected.geometry},
      {"--chunk-size", &collected.chunk_size},
      {"--size", &collected.size},
      {"--server", &line.lost_servers},
      {"--disk", &collected.disk},
      {"--namespace", &collected.name_space},
      {"--inventory", &collected.inventory},
      {"--servers", &collected.servers},
      {"--hosts", &collected.hosts},
      {"--capacity", &collected.capacity},
      {"--within", &collected.within},
      {"--log", &collected.log},
      {"--redirector", &collected.redirector},
      {"--higher", &collected.higher}};
  for (const OwnOption& option : kOwnOptions) {
    if (!TakesOption(option, command.name)) continue;
    const std::string flag(option.flag);
    if (*option.argument == '\0') {
      app.add_flag(flag, *switches.at(option.flag), option.help);
    } else {
      AddValues(app, flag, *values.at(option.flag), option.help)->type_name(option.argument);
    }
  }
}

Result<std::chrono::seconds> ParseSeconds(std::string_view flag, const std::string& value) {
  XEC_ASSIGN_OR_RETURN(const std::chrono::milliseconds parsed, ParseDuration(value));
  if (parsed == std::chrono::milliseconds::zero())
    return Fail(Code::kInvalidArgument, "{} '{}' is no time: it must be more than 0", flag, value);
  return std::chrono::ceil<std::chrono::seconds>(parsed);
}

// The values in the order of precedence: flags, then the file.
Status Apply(Collected& collected, CommandLine& line) {
  if (collected.with.size() > 1) return Fail(Code::kInvalidArgument, "--with: only one can be given");
  if (!collected.with.empty()) line.with = collected.with.front();
  if (collected.host.size() > 1) return Fail(Code::kInvalidArgument, "--host: only one can be given");
  if (!collected.host.empty()) line.host = collected.host.front();
  for (const std::string& time : collected.time) {
    XEC_ASSIGN_OR_RETURN(line.maintenance_time, ParseSeconds("--for", time));
  }
  for (const std::string& time : collected.by) {
    XEC_ASSIGN_OR_RETURN(line.by, ParseSeconds("--by", time));
  }
  if (collected.configuration_files.size() > 1)
    return Fail(Code::kInvalidArgument, "-c: only one file can be given");
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
  if (collected.output.size() != 1)
    return Fail(Code::kInvalidArgument, "say -o FILE, once: where to write the object");
  line.output = collected.output.front();
  if (!collected.object.empty()) line.object = collected.object.front();
  XEC_TRY(set("geometry", collected.geometry));
  XEC_TRY(set("chunk-size", collected.chunk_size));
  for (const std::string& value : collected.size) {
    const auto bytes = ParseSize(value);
    if (!bytes) return Fail(Code::kInvalidArgument, "--size: {}", bytes.error().message);
    line.size = *bytes;
  }
  return OkStatus();
}

Status ApplyLost(const Collected& collected, CommandLine& line) {
  for (const auto& [flag, values, target] :
       {std::tuple("--disk", &collected.disk, &line.disk),
        {"--namespace", &collected.name_space, &line.name_space},
        {"--inventory", &collected.inventory, &line.configuration.inventory}}) {
    if (values->size() > 1) return Fail(Code::kInvalidArgument, "{}: only one can be given", flag);
    if (!values->empty()) *target = values->front();
  }
  return OkStatus();
}

Status ApplyHealth(const Collected& collected, CommandLine& line) {
  if (collected.inventory.size() > 1)
    return Fail(Code::kInvalidArgument, "--inventory: only one can be given");
  if (!collected.inventory.empty()) line.configuration.inventory = collected.inventory.front();
  // A store is not counted every few seconds.
  if (line.watch && !line.servers_only) line.last = true;
  if (line.deep && (line.last || line.servers_only))
    return Fail(Code::kInvalidArgument,
                "--deep counts all objects now: not with --last, --watch or --servers");
  return OkStatus();
}

// "5%", or "5".
Status ApplyBalance(const Collected& collected, CommandLine& line) {
  constexpr uint64_t kPointsMax = 50;
  constexpr double kPercent = 100;
  line.within = BalanceOptions::kWithin;
  if (collected.within.size() > 1) return Fail(Code::kInvalidArgument, "--within: only one can be given");
  for (std::string_view value : collected.within) {
    if (value.ends_with('%')) value.remove_suffix(1);
    const auto points = ParseUint(value);
    if (!points || *points < 1 || *points > kPointsMax)
      return Fail(Code::kInvalidArgument, "--within: '{}' is no percentage from 1 to {}", value, kPointsMax);
    line.within = static_cast<double>(*points) / kPercent;
  }
  return OkStatus();
}

Status ApplyConfig(const Collected& collected, CommandLine& line) {
  constexpr const char* kPort = ":1213";  // where a cmsd is, if nothing else is said
  for (const auto& [flag, values, target] :
       {std::tuple("--redirector", &collected.redirector, &line.site.redirector),
        {"--higher", &collected.higher, &line.site.higher}}) {
    if (values->size() > 1) return Fail(Code::kInvalidArgument, "{}: only one can be given", flag);
    if (values->empty()) continue;
    *target = values->front();
    if (target->find_first_of(" /") != std::string::npos)
      return Fail(Code::kInvalidArgument, "{}: '{}' is no HOST or HOST:PORT", flag, *target);
    if (target->find(':') == std::string::npos) *target += kPort;
  }
  return OkStatus();
}

Status ApplyMount(const Collected& collected, CommandLine& line) {
  line.mount_options = collected.output;
  if (collected.log.size() > 1) return Fail(Code::kInvalidArgument, "--log: only one can be given");
  if (!collected.log.empty()) line.log_file = collected.log.front();
  return OkStatus();
}

// What is described, in place of a store.
Status ApplyPlan(const Collected& collected, CommandLine& line) {
  for (const auto& [flag, values, target] :
       {std::tuple("--servers", &collected.servers, &line.planned_servers),
        {"--hosts", &collected.hosts, &line.planned_hosts}}) {
    if (values->size() > 1) return Fail(Code::kInvalidArgument, "{}: only one can be given", flag);
    if (values->empty()) continue;
    *target = ParseUint(values->front());
    if (!*target || **target < 1 || **target > kMembersOfStoreMax) {
      return Fail(Code::kInvalidArgument, "{}: '{}' is no number from 1 to {}", flag, values->front(),
                  kMembersOfStoreMax);
    }
  }
  for (const std::string& value : collected.capacity) {
    const auto bytes = ParseSize(value);
    if (!bytes) return Fail(Code::kInvalidArgument, "--capacity: {}", bytes.error().message);
    line.capacity_bytes = *bytes;
  }
  const Configuration& c = line.configuration;
  const bool of_store = !c.data.empty() || !c.servers.empty() || !c.origin.empty();
  if (of_store && line.planned_servers)
    return Fail(Code::kInvalidArgument, "--servers: that describes a store, and one is given");
  if (!line.planned_servers && (line.planned_hosts || line.capacity_bytes))
    return Fail(Code::kInvalidArgument, "--hosts and --capacity are of a store that --servers N describes");
  if (!of_store && !line.planned_servers) {
    return Fail(
        Code::kInvalidArgument,
        "say which store (-c FILE, --data, --server, --origin), or describe one: --servers 12 --hosts 6");
  }
  return OkStatus();
}

// `literal`: what stood behind "--", operands whatever they look like.
Result<std::vector<std::string>> Operands(const CLI::App& command, const std::vector<std::string>& literal) {
  std::vector<std::string> operands;
  for (const std::string& word : command.remaining()) {
    if (word.size() > 1 && word[0] == '-') {
      return Fail(Code::kInvalidArgument, "unknown option {} (see xec {} --help)", word, command.get_name());
    }
    operands.push_back(word);
  }
  operands.insert(operands.end(), literal.begin(), literal.end());
  return operands;
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, char** argv) {
  CommandLine line;
  std::deque<Collected> collected;
  CLI::App app(kProgramSummary, "xec");
  app.require_subcommand(0, 1);
  app.allow_extras();
  app.set_version_flag("--version", std::string("xec ") + XEC_VERSION);
  app.footer(std::string(kProgramHelp) + "\n" + ExitCodeText());
  for (const CommandText& text : kCommands) {
    CLI::App* sub = app.add_subcommand(text.name, text.summary);
    Collected& values = collected.emplace_back();
    // Operands are what CLI11 leaves over: its own lists take "[a,b]" apart.
    sub->allow_extras();
    sub->formatter(std::make_shared<UsageFormatter>(text));
    AddOwnOptions(*sub, text, line, values);
    if (text.store) AddStoreOptions(*sub, text.name, values);
    if (*text.examples) sub->footer(std::string("Examples:\n") + text.examples);
  }
  // CLI11 would hand what follows "--" to the program instead of the command.
  const char* const marker = "--";
  char** const behind =
      std::find_if(argv, argv + argc, [&](const char* word) { return std::string_view(word) == marker; });
  const std::vector<std::string> literal(behind == argv + argc ? behind : behind + 1, argv + argc);
  try {
    app.parse(static_cast<int>(behind - argv), argv);
  } catch (const CLI::Success& success) {
    app.exit(success, std::cout, std::cerr);
    return CommandLine{};
  } catch (const CLI::ParseError& error) {
    return Fail(Code::kInvalidArgument, "{}", error.what());
  }
  for (const std::string& word : app.remaining()) {
    return Fail(Code::kInvalidArgument, "unknown {} {} (see xec --help)",
                word.starts_with('-') ? "option" : "command", word);
  }
  if (app.get_subcommands().empty())
    return Fail(Code::kInvalidArgument, "say what to do: xec COMMAND (see xec --help)");
  const CLI::App* chosen = app.get_subcommands().front();
  line.command = chosen->get_name();
  XEC_ASSIGN_OR_RETURN(line.operands, Operands(*chosen, literal));
  for (size_t i = 0; i < std::size(kCommands); ++i) {
    const CommandText& text = kCommands[i];
    if (line.command != text.name) continue;
    if (line.operands.size() < text.operands_min || line.operands.size() > text.operands_max) {
      return Fail(Code::kInvalidArgument, "usage: xec {} [OPTION]... {}", text.name, text.operands);
    }
    if (text.store) XEC_TRY(Apply(collected[i], line));
    if (line.command == "recover") XEC_TRY(ApplyRecover(collected[i], line));
    if (line.command == "lost") XEC_TRY(ApplyLost(collected[i], line));
    if (line.command == "health") XEC_TRY(ApplyHealth(collected[i], line));
    if (line.command == "balance") XEC_TRY(ApplyBalance(collected[i], line));
    if (line.command == "config") XEC_TRY(ApplyConfig(collected[i], line));
    if (line.command == "mount") XEC_TRY(ApplyMount(collected[i], line));
    if (line.command == "plan") XEC_TRY(ApplyPlan(collected[i], line));
  }
  return line;
}

}  // namespace xec
