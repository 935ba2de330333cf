#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-3.0-or-later
# ./dev check: what must hold before every commit. --fix formats instead of complaining; --tidy adds clang-tidy.
set -uo pipefail
repo=${XEC_REPO:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
source "$repo/tools/packages.sh"

fix=0 tidy=0
for argument in "$@"; do
  case "$argument" in
    --fix) fix=1 ;;
    --tidy) tidy=1 ;;
    *)
      echo "dev check: unknown option \"$argument\" (see ./dev help)" >&2
      exit 2
      ;;
  esac
done
cd "$repo" || exit 1
groups=(build run test check)
if ((tidy)); then groups+=(tidy); fi
ensure_packages "${groups[@]}" || exit 1

failed=()
# step NAME COMMAND...: runs it, remembers a failure.
step() {
  local name=$1
  shift
  echo "== $name"
  "$@" || failed+=("$name")
}

cpp_files() { git ls-files -co --exclude-standard -z -- '*.cc' '*.hh'; }
format() {
  if ((fix)); then
    cpp_files | xargs -0 -r clang-format-19 -i
  else
    cpp_files | xargs -0 -r clang-format-19 --dry-run --Werror --ferror-limit=3
  fi
}
# The flags of all files, without what g++ has precompiled, which clang does not read.
configure_for_clang() {
  mkdir -p build && cmake --preset release -B build/tidy -DXEC_PCH=OFF >build/tidy.log
}
locks() {
  configure_for_clang && /usr/bin/env python3 tools/check_locks.py build/tidy
}
static_analysis() {
  configure_for_clang || return 1
  git ls-files -- 'src/*.cc' | grep -v '/test/' |
    xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/tidy --quiet
}
quick_tests() {
  /usr/bin/env python3 tools/run_tests.py --label unit --label golden --label simulation_short
}

step format format
step layers /usr/bin/env python3 tools/check_layers.py
step rules /usr/bin/env python3 tools/check_rules.py
step bounds /usr/bin/env python3 tools/bounds.py --check
step locks locks
step tests quick_tests
if ((tidy)); then step tidy static_analysis; fi
if ((${#failed[@]} > 0)); then
  echo "dev check: failed: ${failed[*]}" >&2
  exit 1
fi
echo "dev check: all is well"
