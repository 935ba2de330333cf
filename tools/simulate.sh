#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev simulate: builds the simulator and hands it all arguments; planted bugs need a build of their own.
set -euo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
preset=release
for argument in "$@"; do
  if [[ $argument == --mutant* ]]; then preset=mutants; fi
done
"$repo/tools/build.sh" --quiet --preset "$preset" simulate
exec "$repo/build/$preset/tests/simulation/simulate" "$@"
