// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/manual.hh"

#include <fmt/format.h>

#include "assembly/configuration/options.hh"
#include "base/text.hh"
#include "cli/command_table.hh"
#include "cli/exit_code.hh"

namespace xec {
namespace {

// For roff: no line may begin with a dot, and a hyphen is a minus.
std::string Roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    if (c == '-') out += "\\-";
    if (c != '\\' && c != '-') out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string RoffLines(std::string_view text) {
  std::string out;
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.empty()) out += Roff(line) + "\n";
  }
  return out;
}

std::string Item(std::string_view flag, std::string_view argument, std::string_view help) {
  return fmt::format(".TP\n.B {}{}\n{}\n", Roff(flag),
                     argument.empty() ? "" : " \\fI" + Roff(argument) + "\\fR", Roff(help));
}

std::string HelpOf(const OptionRow& row) {
  std::string help(row.help);
  if (!row.initial.empty()) help += fmt::format(" Default: {}.", row.initial);
  if (row.repeats) help += " May be repeated.";
  return help;
}

struct Section {
  OptionGroup group;
  const char* title;
  const char* text;
};
constexpr Section kSections[] = {
    {OptionGroup::kStore, "The store", "Taken by every command but recover and version."},
    {OptionGroup::kGateway, "The gateway",
     "Taken by serve only; other commands ignore these lines of a file."},
    {OptionGroup::kLimits, "Limits", "Bounds of the engine, taken by every command but recover and version."},
};

// "-q,--quiet" -> "-q --quiet"
std::string Flags(std::string_view flag) {
  std::string flags(flag);
  for (char& c : flags) {
    if (c == ',') c = ' ';
  }
  return flags;
}

}  // namespace

std::string OptionsMarkdown() {
  std::string text;
  for (const Section& section : kSections) {
    text += fmt::format("## {}\n\n{}\n\n| directive | default | meaning |\n| --- | --- | --- |\n",
                        section.title, section.text);
    for (const OptionRow& row : OptionTable()) {
      if (row.group != section.group) continue;
      std::string argument;
      for (const char c : row.argument) argument += c == '|' ? std::string("\\|") : std::string(1, c);
      text += fmt::format("| `xec.{} {}` | {} | {}{} |\n", row.name, argument,
                          row.initial.empty() ? "none" : row.initial, row.help,
                          row.repeats ? " May be repeated." : "");
    }
    text += "\n";
  }
  return text;
}

std::string ManPage() {
  std::string text =
      ".\\\" SPDX-License-Identifier: LGPL-3.0-or-later\n.\\\" Made from the tables of the program: see "
      "src/cli/manual.hh.\n";
  text +=
      ".TH XEC 1\n.SH NAME\nxec \\- erasure\\-coded object store on XRootD servers or local directories\n";
  text += ".SH SYNOPSIS\n.B xec\n.I command\n[\\fIoption\\fR]... [\\fIoperand\\fR]...\n.SH DESCRIPTION\n";
  text += ".nf\n" + RoffLines(kProgramHelp) + ".fi\n.SH COMMANDS\n";
  for (const CommandText& command : kCommands) {
    text += fmt::format(".SS xec {} {}\n{}.\n", Roff(command.name), Roff(command.operands),
                        Roff(command.summary));
    if (*command.examples) text += ".PP\n.nf\n" + RoffLines(command.examples) + ".fi\n";
    for (const OwnOption& option : kOwnOptions) {
      if (TakesOption(option, command.name)) text += Item(Flags(option.flag), option.argument, option.help);
    }
  }
  text += ".SH OPTIONS OF STORES\n" +
          Item("-c", "FILE", "Read the xec. directives of this file; flags override them.");
  for (const Section& section : kSections) {
    text += fmt::format(".SS {}\n{}\n", section.title, Roff(section.text));
    for (const OptionRow& row : OptionTable()) {
      if (row.group == section.group) text += Item(fmt::format("--{}", row.name), row.argument, HelpOf(row));
    }
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& row : kExitCodes)
    text += fmt::format(".TP\n.B {}\n{}\n", row.code, Roff(row.meaning));
  return text + ".SH SEE ALSO\n.BR xrootd (8),\n.BR xrdcp (1)\n";
}

std::string BashCompletion() {
  std::string commands, store, gateway;
  for (const CommandText& command : kCommands)
    commands += fmt::format("{}{}", commands.empty() ? "" : " ", command.name);
  for (const OptionRow& row : OptionTable()) {
    (row.group == OptionGroup::kGateway ? gateway : store) += fmt::format(" --{}", row.name);
  }
  std::string cases;
  for (const CommandText& command : kCommands) {
    std::string flags = "--help";
    for (const OwnOption& option : kOwnOptions) {
      if (TakesOption(option, command.name)) flags += " " + Flags(option.flag);
    }
    if (command.store) flags += " -c $store";
    if (std::string_view(command.name) == "serve") flags += " $gateway";
    cases += fmt::format("    {}) flags=\"{}\" ;;\n", command.name, flags);
  }
  return fmt::format(R"(# SPDX-License-Identifier: LGPL-3.0-or-later
# Completion of the program xec for bash. Made from the tables of the program: see src/cli/manual.hh.
_xec() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}} command=${{COMP_WORDS[1]}} flags
  local commands="{}"
  local store="{}"
  local gateway="{}"
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$word"))
    return
  fi
  case "$previous" in
    --layout) COMPREPLY=($(compgen -W "native xrdec" -- "$word")); return ;;
    --sync) COMPREPLY=($(compgen -W "commit none" -- "$word")); return ;;
    --data | --state) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    -c | -o | --xrootd) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --user) COMPREPLY=($(compgen -u -- "$word")); return ;;
  esac
  case "$command" in
{}    *) flags="" ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -o filenames -F _xec xec
)",
                     commands, store.substr(1), gateway.substr(1), cases);
}

}  // namespace xec
