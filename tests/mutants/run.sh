#!/usr/bin/env bash
# usage: tests/mutants/run.sh [LIST...]
# Plants each bug of the lists (default: every *.txt here) in turn and expects its named test to turn red, and to be green without it.
# Needs ./dev build mutants. A bug that no test sees is printed, and the exit code is 1.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$here/../.." && pwd)/build-mutants/bin
missed=0
planted=0
while read -r name program filter; do
  case $name in '' | '#'*) continue ;; esac
  planted=$((planted + 1))
  if ! "$bin/$program" --gtest_filter="$filter" >/dev/null 2>&1; then
    echo "error: $filter of $program is red without a planted bug"
    missed=$((missed + 1))
  elif WAYPOST_MUTANT=$name timeout 300 "$bin/$program" --gtest_filter="$filter" >/dev/null 2>&1; then
    echo "missed: $name is not seen by $filter of $program"
    missed=$((missed + 1))
  else
    echo "caught: $name"
  fi
done < <(if [ $# -gt 0 ]; then cat "$@"; else cat "$here"/*.txt; fi)
echo "$planted planted, $missed missed"
[ "$missed" -eq 0 ] && [ "$planted" -gt 0 ]
