#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ensure_packages GROUP...: installs what tools/packages.txt lists for these groups and is not there yet.
# As root or with sudo. Costs one dpkg-query when nothing is missing.

wanted_packages() {
  awk -v groups=" $* " '/^[^#]/ {
    for (i = 2; i <= NF && $i != "#"; ++i) if (index(groups, " " $i " ")) { print $1; next }
  }' "$(dirname "${BASH_SOURCE[0]}")/packages.txt"
}

missing_packages() {
  local wanted
  wanted=$(wanted_packages "$@")
  # shellcheck disable=SC2086 -- a list of words
  comm -23 <(sort <<<"$wanted") \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort)
}

ensure_packages() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null; then
    echo "dev: this system has no dpkg; install by hand what tools/packages.txt lists" >&2
    return 0
  fi
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then return 0; fi
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "dev: these packages are missing, and neither root nor sudo is at hand: ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "dev: installing ${missing[*]}" >&2
  local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends)
  # A list of packages that is old or absent shows as a failed first try.
  "${as_root[@]}" "${install[@]}" "${missing[@]}" >&2 && return 0
  "${as_root[@]}" apt-get update -q >&2 && "${as_root[@]}" "${install[@]}" "${missing[@]}" >&2
}
