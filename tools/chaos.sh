#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev chaos: installs what it needs, builds, and starts tests/chaos/chaos.py.
set -euo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
if [[ " $* " != *" --help "* && " $* " != *" -h "* ]]; then
  "$repo/tools/build.sh" --quiet --groups "build run test" programs
fi
# Debian's own Python: that is the one python3-xrootd is for.
exec /usr/bin/python3 "$repo/tests/chaos/chaos.py" "$@"
