// SPDX-License-Identifier: LGPL-3.0-or-later
#include "assembly/configuration/configuration_file.hh"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assembly/configuration/options.hh"
#include "base/text.hh"
#include "base/units.hh"
#include "server/kinds/local_root.hh"

namespace xec {
namespace {

constexpr std::string_view kDirectivePrefix = "xec.";

std::string_view FirstWord(std::string_view line) {
  return line.substr(0, std::min(line.find_first_of(" \t"), line.size()));
}

// One line of the file. `depth` counts the if blocks of xrootd that are open.
Status ParseLine(std::string_view line, size_t number, int& depth, Configuration& configuration) {
  if (line.size() > kConfigurationLineMax) {
    return Fail(Code::kInvalidArgument, "the line is longer than {} bytes", kConfigurationLineMax);
  }
  line = Trim(line);
  if (line.empty() || line[0] == '#') return OkStatus();
  const std::string_view word = FirstWord(line);
  if (word == "if") ++depth;
  if (word == "fi") --depth;
  if (!word.starts_with(kDirectivePrefix)) return OkStatus();
  const auto in_line = [&](const Error& error) { return Fail(error.code, "{}: {}", word, error.message); };
  if (line.find('\0') != std::string_view::npos)
    return Fail(Code::kInvalidArgument, "the line has a zero byte");
  if (depth > 0)
    return in_line(Fail(Code::kInvalidArgument, "xec directives cannot stand between if and fi"));
  const Status set = SetOption(configuration, word.substr(kDirectivePrefix.size()), line.substr(word.size()),
                               fmt::format("line {}", number));
  return set ? OkStatus() : Status(in_line(set.error()));
}

}  // namespace

Result<Configuration> ParseConfiguration(std::string_view text, std::string_view name) {
  if (text.size() > kConfigurationBytesMax) {
    return Fail(Code::kInvalidArgument, "{}: the file is larger than {}", name,
                FormatSize(kConfigurationBytesMax));
  }
  Configuration configuration;
  int depth = 0;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    const Status parsed = ParseLine(line, number, depth, configuration);
    if (!parsed) return Fail(parsed.code(), "{}:{}: {}", name, number, parsed.error().message);
  }
  const Status valid = ValidateConfiguration(configuration);
  if (!valid) return Fail(valid.code(), "{}: {}", name, valid.error().message);
  return configuration;
}

Result<Configuration> ParseConfigurationFile(const std::string& path) {
  const auto cannot_be_read = [&path](int error) {
    return Fail(CodeOfErrno(error), "the configuration file {} cannot be read: {}", path, ErrnoWords(error));
  };
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return cannot_be_read(errno);
  std::string text(kConfigurationBytesMax + 1, '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t count = read(file.get(), text.data() + got, text.size() - got);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return cannot_be_read(errno);
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  text.resize(got);
  return ParseConfiguration(text, path);
}

}  // namespace xec
