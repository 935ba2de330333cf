#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev build: configures a preset and compiles it. Options besides those of the help text, for other scripts:
# --quiet (prints only what goes wrong) and --groups "..." (groups of packages to install, see packages.txt).
set -euo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
source "$repo/tools/packages.sh"

fail_usage() {
  echo "dev build: $1 (see ./dev help)" >&2
  exit 2
}

preset=release build_dir="" xrootd="" quiet=0 groups="build" targets=()
while (($# > 0)); do
  case "$1" in
    --xrootd | --build-dir | --preset | --groups)
      (($# > 1)) || fail_usage "$1 needs a value"
      case "$1" in
        --xrootd) xrootd=$2 ;;
        --build-dir) build_dir=$2 ;;
        --preset) preset=$2 ;;
        --groups) groups=$2 ;;
      esac
      shift 2
      ;;
    --quiet) quiet=1; shift ;;
    -*) fail_usage "unknown option \"$1\"" ;;
    *) targets+=("$1"); shift ;;
  esac
done
case "$preset" in
  release | asan | tsan | mutants) ;;
  fuzz)
    groups+=" fuzz"
    if ((${#targets[@]} == 0)); then targets=(fuzzers); fi
    ;;
  *) fail_usage "unknown preset \"$preset\"" ;;
esac
if [[ -n $xrootd ]]; then
  [[ -d $xrootd/include ]] || fail_usage "there is no XRootD in \"$xrootd\""
  xrootd=$(realpath "$xrootd")
fi
build_dir=$(realpath -m "${build_dir:-$repo/build/$preset}")

# shellcheck disable=SC2086 -- a list of words
ensure_packages $groups

configure=(cmake --preset "$preset" -S "$repo" -B "$build_dir")
if [[ -n $xrootd ]]; then configure+=("-DXROOTD_PREFIX=$xrootd"); fi
compile=(cmake --build "$build_dir")
if ((${#targets[@]} > 0)); then compile+=(--target "${targets[@]}"); fi

# Checkouts in other folders share compiled files.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$repo} CCACHE_NOHASHDIR=1
cd "$repo"
if ((quiet)); then
  mkdir -p "$build_dir"
  log=$build_dir/dev-build.log
  echo "dev: building ${build_dir#"$repo/"}" >&2
  if ! { "${configure[@]}" && "${compile[@]}"; } >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "dev: the build failed; all of its output is in $log" >&2
    exit 1
  fi
else
  "${configure[@]}"
  "${compile[@]}"
fi
