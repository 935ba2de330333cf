#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev simulate: builds the simulator and hands it all arguments; planted bugs need a build of their own.
set -euo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
preset=release
program() { echo "$repo/build/$preset/tests/simulation/simulate"; }
for argument in "$@"; do
  case "$argument" in
    --mutant*) preset=mutants ;;
    # Nothing is compiled for a help text where a program is at hand.
    -h | --help) if [[ -x $(program) ]]; then exec "$(program)" --help; fi ;;
  esac
done
"$repo/tools/build.sh" --quiet --preset "$preset" simulate
exec "$(program)" "$@"
