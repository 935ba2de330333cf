#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev run: from a fresh Debian 12 to a store that answers on port 1094. Options go to `xec serve`; what they
# do not say is 12 directories below var/, 8+2. XEC_VAR=DIR takes another directory than var/; XEC_BUILD=DIR serves
# what was built there, and compiles and installs nothing.
set -euo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
var=$(realpath -m "${XEC_VAR:-$repo/var}")

# has OPTION ARGUMENT...: whether the option is among the arguments, as "--x V" or "--x=V".
has() {
  local option=$1 argument
  shift
  for argument in "$@"; do
    if [[ $argument == "$option" || $argument == "$option="* ]]; then return 0; fi
  done
  return 1
}

options=("$@")
if has --help "$@" || has -h "$@"; then :; elif ! has -c "$@"; then
  if ! has --data "$@" && ! has --origin "$@" && ! has --server "$@"; then
    for i in {01..12}; do options+=(--data "$var/d$i"); done
    where="the objects are spread over the twelve directories $var/d01 ... d12"
  fi
  has --geometry "$@" || options+=(--geometry 8+2)
  has --port "$@" || options+=(--port 1094)
  has --state "$@" || options+=(--state "$var/state")
fi
port=1094
for ((i = 0; i < ${#options[@]}; ++i)); do
  case "${options[i]}" in
    --port) port=${options[i + 1]:-} ;;
    --port=*) port=${options[i]#--port=} ;;
  esac
done

# Passes the output on, and after the line "ready" tells what to try. Ends with the server, not by ctrl-C.
announce() {
  trap '' INT TERM
  local line
  while IFS= read -r line; do
    printf '%s\n' "$line"
    if [[ $line == ready* ]]; then
      cat <<TEXT

Try, in another shell:
  xrdcp /etc/os-release root://localhost:$port//demo/release
  xrdfs localhost:$port ls -l /demo
  xrdfs localhost:$port query checksum /demo/release
  xrdcp root://localhost:$port//demo/release /tmp/release
  curl -T /etc/os-release http://localhost:$port/demo/more
  curl -O http://localhost:$port/demo/more
TEXT
      if [[ -n ${where:-} ]]; then
        printf '%s;\nmove any two of them away and everything still reads. Ctrl-C stops the server.\n' "${where^}"
      fi
    fi
  done
}

build=${XEC_BUILD:-$repo/build/release}
if [[ -z ${XEC_BUILD:-} ]]; then
  "$repo/tools/build.sh" --quiet --groups "build run" programs
fi
xec=$(find "$build" -type f -name xec -perm -u+x | head -n 1)
if [[ -z $xec ]]; then
  echo "dev: there is no program xec below $build" >&2
  exit 1
fi
if ! getent ahosts "$(uname -n)" >/dev/null; then
  echo "dev: the name of this machine, $(uname -n), has no address, and xrootd needs one: add it to /etc/hosts" >&2
  exit 1
fi
mkdir -p "$var"

# As root, `xec serve` becomes another user. Where that user can't reach this directory (a clone below a home
# directory that is closed to others), it starts as that user, with the one capability to pass closed directories.
prefix=()
if ((EUID == 0)); then
  for user in xrootd nobody; do
    if getent passwd "$user" >/dev/null; then break; fi
  done
  as_user=(setpriv "--reuid=$user" "--regid=$(id -g "$user")" --clear-groups)
  if ! "${as_user[@]}" test -r "$xec" -a -x "$var"; then
    prefix=("${as_user[@]}" --securebits=+no_setuid_fixup --inh-caps=+dac_read_search
      --ambient-caps=+dac_read_search)
    # For a new store only: a disk that was taken away must find its place free when it comes back.
    if [[ -n ${where:-} ]] && ! compgen -G "$var/d*" >/dev/null; then mkdir -p "$var"/d{01..12}; fi
    mkdir -p "$var/state"
    chown "$user:" "$var" "$var"/*
  fi
fi
# exec: who signals ./dev run signals xec serve.
exec "${prefix[@]}" "$xec" serve "${options[@]}" > >(announce)
