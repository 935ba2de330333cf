// SPDX-License-Identifier: LGPL-3.0-or-later
#include "cli/mount_helper.hh"

#include "base/text.hh"
#include "cli/exit_code.hh"
#include "tree_xrootd/xrootd_tree.hh"

namespace xec {
namespace {

constexpr std::string_view kHelperName = "mount.xec";
constexpr std::string_view kLogOption = "log=";
constexpr int kWrongUse = 1, kNotMounted = 32;  // of mount(8)

// Options that `xec mount` has as flags are taken out.
void AddOptions(std::string_view options, std::vector<std::string>& words) {
  std::string others;
  for (const std::string_view option : Split(options, ',')) {
    if (option.starts_with(kLogOption)) {
      words.insert(words.end(), {"--log", std::string(option.substr(kLogOption.size()))});
    } else {
      others += fmt::format("{}{}", others.empty() ? "" : ",", option);
    }
  }
  words.insert(words.end(), {"-o", others});
}

}  // namespace

bool IsMountHelper(std::string_view program) { return program.substr(program.rfind('/') + 1) == kHelperName; }

Result<std::vector<std::string>> WordsOfMountHelper(const std::vector<std::string>& words) {
  std::vector<std::string> out = {"mount"}, operands;
  bool fake = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value = word == "-o" || word == "-t" || word == "-N";
    if (has_value && i + 1 == words.size())
      return Fail(Code::kInvalidArgument, "mount.xec: {} needs a value", word);
    if (word == "-o") {
      AddOptions(words[++i], out);
    } else if (has_value) {
      ++i;  // the type, and the namespace, which mount(8) has entered
    } else if (word.size() > 1 && word[0] == '-') {
      if (word.find_first_not_of("sfnv", 1) != std::string::npos)
        return Fail(Code::kInvalidArgument, "mount.xec: there is no option {}", word);
      fake = fake || word.find('f') != std::string::npos;
    } else {
      operands.push_back(word);
    }
  }
  if (operands.size() != 2) {
    return Fail(Code::kInvalidArgument,
                "usage: mount.xec FILE|root://HOST[:PORT][//PATH] DIRECTORY [-sfnv] [-o OPTIONS]");
  }
  if (fake) return std::vector<std::string>();
  if (!IsXrootdUrl(operands.front())) out.emplace_back("-c");
  out.insert(out.end(), operands.begin(), operands.end());
  return out;
}

int MountHelperExitCode(int code) {
  if (code == kExitOk) return kExitOk;
  return code == kExitUsage ? kWrongUse : kNotMounted;
}

}  // namespace xec
