#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev test: installs what the tests need and starts the runner.
set -euo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
source "$repo/tools/packages.sh"
ensure_packages build run test check
exec /usr/bin/env python3 "$repo/tools/run_tests.py" "$@"
