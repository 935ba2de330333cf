// SPDX-License-Identifier: LGPL-3.0-or-later
#include "plugin_oss/wanted_settings.hh"

#include <string>
#include <vector>

#include "base/contains.hh"
#include "plugin_oss/opaque.hh"
#include "protocol/settings_attribute.hh"

namespace xec {
namespace {

// XRootD adds the first bits to what a client sends, so 0600 and 0700 are what one sends that says nothing.
constexpr mode_t kPermissions = 0777;
// Nothing, xrdcp and copies by HTTP, HTTP.
constexpr mode_t kNoWishForObject[] = {0600, 0644, 0664};
// Nothing, xrdfs mkdir, a mount.
constexpr mode_t kNoWishForDirectory[] = {0700, 0750, 0755};

}  // namespace

Result<Settings> SettingsWanted(std::string_view opaque, mode_t mode) {
  const std::vector<std::string> said = OpaqueValues(opaque, kSettingsAttribute);
  if (said.empty()) {
    const bool wish = !Contains(kNoWishForObject, mode & kPermissions);
    return wish ? Settings::OfMode(mode & kPermissions) : Settings();
  }
  const std::optional<Settings> settings = ParseSettings(said.front());
  if (!settings) return Fail(Code::kInvalidArgument, "'{}' says no settings, as m0644_l does", said.front());
  return *settings;
}

std::optional<uint16_t> DirectoryModeWanted(mode_t mode) {
  if (Contains(kNoWishForDirectory, mode & kPermissions)) return std::nullopt;
  return static_cast<uint16_t>(mode & kPermissions);
}

}  // namespace xec
