#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev simulate: builds the simulator of the release preset and hands it all arguments.
set -euo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
if [[ ! -f $repo/tests/simulation/CMakeLists.txt ]]; then
  echo "dev: there is no simulator in tests/simulation yet" >&2
  exit 1
fi
"$repo/tools/build.sh" --quiet simulate
program=$(find "$repo/build/release" -type f -name simulate -perm -u+x | head -n 1)
exec "$program" "$@"
